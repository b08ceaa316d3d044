//! A table of fixed answers.

use crate::pattern::{method_matches, path_matches};

use super::answer::Answer;
use super::request::Request;

/// Answers by method and path; the first that fits, else 404.
#[derive(Clone, Debug, Default)]
pub struct Routes(Vec<Route>);

#[derive(Clone, Debug)]
struct Route {
    method: String,
    path: String,
    answer: Answer,
}

impl Routes {
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an answer. The method may be `*`; in the path `*` stands for one
    /// segment and a last `**` for the rest.
    pub fn on(mut self, method: &str, path: &str, answer: Answer) -> Self {
        self.0.push(Route { method: method.to_owned(), path: path.to_owned(), answer });
        self
    }

    /// The table as what [`super::start`] takes.
    pub fn handler(self) -> impl Fn(&Request<'_>) -> Answer + Send + Sync + 'static {
        let nowhere = Answer::text(404, "no such route");
        move |request| {
            let fits = |route: &&Route| {
                method_matches(&route.method, request.method) && path_matches(&route.path, request.path)
            };
            let route = self.0.iter().find(fits);
            route.map_or_else(|| nowhere.clone(), |route| route.answer.clone())
        }
    }
}
