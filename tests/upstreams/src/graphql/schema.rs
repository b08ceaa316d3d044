//! A small bookshop in GraphQL.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_graphql::{
    EmptySubscription, Enum, ID, InputObject, Interface, Object, OneofObject, Schema, SimpleObject, Union,
    Upload,
};

pub(super) type Shop = Schema<Query, Mutation, EmptySubscription>;

/// The books, shared by all resolvers.
#[derive(Clone, Default)]
pub(super) struct State(Arc<Mutex<Books>>);

struct Books {
    books: Vec<Book>,
    last_id: u32,
}

impl Default for Books {
    fn default() -> Self {
        let titles = ["Emma", "Persuasion", "Sanditon"];
        let book = |(number, title): (usize, &&str)| {
            Book::new(
                &(number + 1).to_string(),
                title,
                if number == 2 { Genre::Fragment } else { Genre::Novel },
            )
        };
        Self { books: titles.iter().enumerate().map(book).collect(), last_id: 3 }
    }
}

impl State {
    pub(super) fn titles(&self) -> Vec<String> {
        self.lock().books.iter().map(|book| book.title.clone()).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Books> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The schema over a state.
pub(super) fn build(state: &State, introspection_off: bool, depth: Option<usize>) -> Shop {
    let mut builder = Schema::build(Query(state.clone()), Mutation(state.clone()), EmptySubscription);
    if introspection_off {
        builder = builder.disable_introspection();
    }
    if let Some(depth) = depth {
        builder = builder.limit_depth(depth);
    }
    builder.register_output_type::<Item>().finish()
}

#[derive(Clone, Copy, PartialEq, Eq, Enum)]
enum Genre {
    Novel,
    Fragment,
}

#[derive(Clone, SimpleObject)]
struct Author {
    id: ID,
    name: String,
}

#[derive(Clone, SimpleObject)]
struct Book {
    id: ID,
    title: String,
    genre: Genre,
    rating: Option<f64>,
    author: Author,
    #[graphql(deprecation = "books have titles")]
    label: String,
}

impl Book {
    fn new(id: &str, title: &str, genre: Genre) -> Self {
        Self {
            id: id.into(),
            title: title.to_owned(),
            genre,
            rating: None,
            author: Author { id: "a1".into(), name: "Jane Austen".to_owned() },
            label: title.to_uppercase(),
        }
    }
}

#[derive(Clone, SimpleObject)]
struct Voucher {
    id: ID,
    title: Option<String>,
    amount: i32,
}

#[derive(Union)]
enum Found {
    Book(Book),
    Voucher(Voucher),
}

#[derive(Interface)]
#[graphql(field(name = "id", ty = "&ID"))]
enum Item {
    Book(Book),
    Voucher(Voucher),
}

#[derive(SimpleObject)]
struct PageInfo {
    has_next_page: bool,
    end_cursor: Option<String>,
}

#[derive(SimpleObject)]
struct BookConnection {
    nodes: Vec<Book>,
    page_info: PageInfo,
    total_count: usize,
}

#[derive(InputObject)]
struct BookInput {
    title: String,
    #[graphql(default_with = "Genre::Novel")]
    genre: Genre,
    tags: Option<Vec<String>>,
    sequel: Option<Box<BookInput>>,
}

#[derive(OneofObject)]
enum BookBy {
    Id(ID),
    Title(String),
}

#[derive(SimpleObject)]
struct UserError {
    field: Vec<String>,
    message: String,
}

#[derive(SimpleObject)]
struct AddPayload {
    book: Option<Book>,
    user_errors: Vec<UserError>,
}

#[derive(SimpleObject)]
struct Kept {
    name: String,
    media_type: Option<String>,
    bytes: usize,
    text: String,
}

pub(super) struct Query(State);

#[Object]
impl Query {
    /// One book by its id.
    async fn book(&self, id: ID) -> Option<Book> {
        self.0.lock().books.iter().find(|book| book.id == id).cloned()
    }

    /// Books, a page at a time; says no where nobody says how many.
    async fn books(
        &self,
        first: Option<i32>,
        after: Option<String>,
        genres: Option<Vec<Genre>>,
    ) -> async_graphql::Result<BookConnection> {
        let first = first.ok_or("you must give `first`")?;
        let all = self.0.lock().books.clone();
        let fits = |book: &Book| genres.as_ref().is_none_or(|genres| genres.contains(&book.genre));
        let fitting: Vec<Book> = all.into_iter().filter(fits).collect();
        let skipped =
            after.and_then(|after| fitting.iter().position(|book| *book.id == *after)).map_or(0, |at| at + 1);
        let count = usize::try_from(first).unwrap_or(0);
        let nodes: Vec<Book> = fitting.iter().skip(skipped).take(count).cloned().collect();
        let page_info = PageInfo {
            has_next_page: skipped + nodes.len() < fitting.len(),
            end_cursor: nodes.last().map(|book| book.id.to_string()),
        };
        Ok(BookConnection { nodes, page_info, total_count: fitting.len() })
    }

    /// Whatever has the word in its title.
    async fn find(&self, text: String) -> Vec<Found> {
        let books = self.0.lock().books.clone().into_iter().filter(|book| book.title.contains(&text));
        let voucher = Voucher { id: "v1".into(), title: Some(text.clone()), amount: 5 };
        books.map(Found::Book).chain([Found::Voucher(voucher)]).collect()
    }

    /// Anything by its id.
    async fn item(&self, id: ID) -> Option<Item> {
        let books = self.0.lock().books.clone();
        books.into_iter().find(|book| book.id == id).map(Item::Book)
    }

    /// The same as `book`.
    #[graphql(deprecation = "use `book`")]
    async fn old_book(&self, id: ID) -> Option<Book> {
        self.0.lock().books.iter().find(|book| book.id == id).cloned()
    }
}

pub(super) struct Mutation(State);

#[Object]
impl Mutation {
    /// Adds a book.
    async fn add_book(&self, input: BookInput) -> AddPayload {
        if input.title.is_empty() {
            let error = UserError { field: vec!["title".to_owned()], message: "can't be blank".to_owned() };
            return AddPayload { book: None, user_errors: vec![error] };
        }
        let mut state = self.0.lock();
        state.last_id += 1;
        let mut book = Book::new(&state.last_id.to_string(), &input.title, input.genre);
        if let Some(tags) = input.tags {
            book.label = tags.join(" ");
        }
        if let Some(sequel) = input.sequel {
            book.label = sequel.title;
        }
        state.books.push(book.clone());
        AddPayload { book: Some(book), user_errors: Vec::new() }
    }

    /// Removes a book, by one thing that is known of it.
    async fn remove_book(&self, by: BookBy) -> bool {
        let mut state = self.0.lock();
        let before = state.books.len();
        match by {
            BookBy::Id(id) => state.books.retain(|book| book.id != id),
            BookBy::Title(title) => state.books.retain(|book| book.title != title),
        }
        state.books.len() < before
    }

    /// Keeps files, and says what came.
    async fn keep(
        &self,
        context: &async_graphql::Context<'_>,
        files: Vec<Upload>,
    ) -> async_graphql::Result<Vec<Kept>> {
        let kept = |file: Upload| -> async_graphql::Result<Kept> {
            let value = file.value(context)?;
            Ok(Kept {
                bytes: value.content.len(),
                text: String::from_utf8_lossy(&value.content).chars().take(100).collect(),
                name: value.filename,
                media_type: value.content_type,
            })
        };
        files.into_iter().map(kept).collect()
    }
}
