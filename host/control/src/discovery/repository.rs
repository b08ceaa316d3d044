//! Pages on which a forge shows a file, and where the file itself is.

use url::Url;

/// The URL of the file that a forge's page shows.
pub(super) fn raw(page: &Url) -> Option<Url> {
    let segments: Vec<&str> = page.path_segments()?.filter(|segment| !segment.is_empty()).collect();
    let host = page.host_str()?;
    let mut raw = page.clone();
    raw.set_query(None);
    raw.set_fragment(None);
    match segments.as_slice() {
        [owner, repository, "blob", rest @ ..] if host == "github.com" && rest.len() > 1 => {
            raw.set_host(Some("raw.githubusercontent.com")).ok()?;
            raw.set_path(&format!("{owner}/{repository}/{}", rest.join("/")));
        }
        // GitLab, wherever it is installed.
        _ if page.path().contains("/-/blob/") => {
            raw.set_path(&page.path().replacen("/-/blob/", "/-/raw/", 1));
        }
        [_, _, "src", _, ..] if host == "bitbucket.org" => {
            raw.set_path(&page.path().replacen("/src/", "/raw/", 1));
        }
        // Gitea and Forgejo, wherever they are installed.
        [_, _, "src", "branch" | "tag" | "commit", _, _, ..] => {
            raw.set_path(&page.path().replacen("/src/", "/raw/", 1));
        }
        _ => return None,
    }
    (raw != *page).then_some(raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_forges_lead_to_their_files() {
        let check = |page: &str, expect: Option<&str>| {
            let found = raw(&Url::parse(page).unwrap()).map(String::from);
            assert_eq!(found.as_deref(), expect, "{page}");
        };
        check(
            "https://github.com/o/r/blob/main/a/openapi.yaml?plain=1#L3",
            Some("https://raw.githubusercontent.com/o/r/main/a/openapi.yaml"),
        );
        check(
            "https://gitlab.com/g/s/p/-/blob/main/a/x.json",
            Some("https://gitlab.com/g/s/p/-/raw/main/a/x.json"),
        );
        check("https://bitbucket.org/o/r/src/main/x.json", Some("https://bitbucket.org/o/r/raw/main/x.json"));
        check(
            "https://codeberg.org/o/r/src/branch/main/x.json",
            Some("https://codeberg.org/o/r/raw/branch/main/x.json"),
        );
        check("https://github.com/o/r", None);
        check("https://github.com/o/r/blob/main", None);
        check("https://a.example/blob/x/y", None);
        check("https://a.example/", None);
    }
}
