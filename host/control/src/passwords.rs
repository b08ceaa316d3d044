//! Passwords: what one must be, and how it is kept.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use argon2::{Algorithm, Argon2, Params, Version};
use serde::Deserialize;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use utoipa::ToSchema;

use crate::problem::{Problem, ProblemKind};

/// Characters of a password. The least is what a limited number of guesses
/// can't find; the most bounds what is hashed.
const SHORTEST: usize = 10;
const LONGEST: usize = 256;

/// Argon2id with 19 MiB, two passes and one lane (OWASP Password Storage
/// Cheat Sheet).
const MEMORY_KIB: u32 = 19 * 1024;
const PASSES: u32 = 2;
const LANES: u32 = 1;

/// Hashes at one time: each holds a processor and its memory for some 30 ms.
const TURNS: usize = 2;
/// How long one waits for its turn.
const PATIENCE: Duration = Duration::from_secs(10);

/// Stands in where an account has no password or is none, so that the answer
/// takes as long.
const NOBODYS: &str =
    "$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// A password as somebody typed it. Nothing prints it.
#[derive(Clone, Deserialize, ToSchema)]
#[serde(transparent)]
#[schema(value_type = String, format = Password)]
pub struct Password(String);

impl Password {
    /// Takes what was typed.
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// Whether it may become somebody's password.
    pub(crate) fn check(&self) -> Result<(), Problem> {
        let length = self.0.chars().count();
        if (SHORTEST..=LONGEST).contains(&length) {
            return Ok(());
        }
        let message = format!("a password has {SHORTEST} to {LONGEST} characters, and this one has {length}");
        Err(Problem::new(ProblemKind::Unprocessable, "password-unsuitable", message)
            .hint("several words that have nothing to do with each other are easy to keep and hard to guess"))
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Password(…)")
    }
}

/// Where passwords are hashed: few at a time, and never on a thread that
/// serves requests.
pub(crate) struct Passwords(Arc<Semaphore>);

impl Default for Passwords {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(TURNS)))
    }
}

impl Passwords {
    /// A password as it is kept: a PHC string.
    pub(crate) async fn hash(&self, password: &Password) -> Result<String, Problem> {
        password.check()?;
        let password = password.clone();
        self.work(move || {
            let hash = argon2().hash_password(password.0.as_bytes());
            hash.map(|hash| hash.to_string()).map_err(|error| Problem::internal(format!("argon2: {error}")))
        })
        .await
    }

    /// Whether a password is the one that is kept. Takes as long where none
    /// is.
    pub(crate) async fn verify(&self, password: &Password, kept: Option<String>) -> Result<bool, Problem> {
        let password = password.clone();
        self.work(move || {
            let somebodys = kept.is_some();
            let kept = kept.unwrap_or_else(|| NOBODYS.to_owned());
            let kept = PasswordHash::new(&kept)
                .map_err(|error| Problem::internal(format!("a stored password is damaged: {error}")))?;
            // What nobody could have set costs no more than what somebody could.
            let typed: String = password.0.chars().take(LONGEST + 1).collect();
            let same = argon2().verify_password(typed.as_bytes(), &kept).is_ok();
            Ok(same && somebodys)
        })
        .await
    }

    async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let turn = self.turn(PATIENCE).await?;
        let done = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            work()
        });
        done.await.unwrap_or_else(|error| Err(Problem::internal(format!("argon2: {error}"))))
    }

    async fn turn(&self, patience: Duration) -> Result<OwnedSemaphorePermit, Problem> {
        let busy = || {
            Problem::new(ProblemKind::Unavailable, "sign-in-busy", "too many people sign in at this moment")
                .hint("try again in some seconds")
        };
        let turn = tokio::time::timeout(patience, self.0.clone().acquire_owned()).await;
        turn.map_err(|_| busy())?.map_err(|_| busy())
    }
}

fn argon2() -> Argon2<'static> {
    let params = Params::new(MEMORY_KIB, PASSES, LANES, None).expect("these are within argon2's bounds");
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn password(text: &str) -> Password {
        Password::new(text.into())
    }

    #[test]
    fn a_password_is_neither_short_nor_endless_and_is_not_printed() {
        for (text, suits) in [
            ("123456789", false),
            ("1234567890", true),
            ("ééééééééé", false),
            ("éééééééééé", true),
            (&"x".repeat(256), true),
            (&"x".repeat(257), false),
        ] {
            assert_eq!(password(text).check().is_ok(), suits, "{text}");
        }
        assert_eq!(format!("{:?}", password("hunter2hunter2")), "Password(…)");
    }

    #[tokio::test]
    async fn only_the_right_one_opens_and_nobodys_opens_nothing() {
        let passwords = Passwords::default();
        let kept = passwords.hash(&password("correct horse battery")).await.unwrap();
        assert!(kept.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{kept}");
        let nobodys = PasswordHash::new(NOBODYS).unwrap();
        assert!(NOBODYS.starts_with(&kept[..30]), "nobody's costs what somebody's does");
        assert!(nobodys.salt.is_some() && nobodys.hash.is_some());
        assert_ne!(kept, passwords.hash(&password("correct horse battery")).await.unwrap(), "salted");
        let right = |text: &str, kept: &str| {
            let (text, kept, passwords) = (password(text), kept.to_owned(), &passwords);
            async move { passwords.verify(&text, Some(kept)).await.unwrap() }
        };
        assert!(right("correct horse battery", &kept).await);
        assert!(!right("correct horse batterz", &kept).await);
        assert!(!passwords.verify(&password("correct horse battery"), None).await.unwrap());
        let damaged = passwords.verify(&password("correct horse battery"), Some("nonsense".into())).await;
        assert_eq!(damaged.unwrap_err().kind, ProblemKind::Internal);
    }

    #[tokio::test]
    async fn two_are_hashed_at_one_time() {
        let passwords = Passwords::default();
        let turn = || passwords.turn(Duration::from_millis(1));
        let (first, second) = (turn().await.unwrap(), turn().await.unwrap());
        assert_eq!(turn().await.unwrap_err().code, "sign-in-busy");
        drop((first, second));
        drop(turn().await.unwrap());
    }
}
