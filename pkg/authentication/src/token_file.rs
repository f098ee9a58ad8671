//! `--token-auth-file`: static bearer tokens, one `token,user,uid[,"group1,group2"]` per line.

use std::collections::HashMap;

use apimachinery::request_notes::Notes;
use apimachinery::user_info::UserInfo;
use async_trait::async_trait;
use sha2::{Digest, Sha256};

use crate::Error;
use crate::chain::{TokenAuthenticator, TokenUser};
use crate::csv::{self, CsvError};

/// The tokens of a file. Look-ups use a digest, so that their timing reveals nothing about a partly correct
/// guess.
#[derive(Debug, Default)]
pub struct TokenFile {
    users: HashMap<[u8; 32], UserInfo>,
}

/// Error in a token file. It prevents the server's start.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenFileError {
    /// The text is not CSV.
    #[error(transparent)]
    Csv(#[from] CsvError),
    /// A record with fewer than three fields.
    #[error("token file '{path}' must have at least 3 columns (token, user name, user uid), found {found}")]
    Columns {
        path: String,
        /// Number of fields in the record.
        found: usize,
    },
}

impl TokenFile {
    /// Parses the text of the file `path` (for errors only).
    ///
    /// As in upstream, records without a token are skipped, and the last record of a repeated token counts.
    /// Both cause a warning in the log.
    ///
    /// # Errors
    /// [`TokenFileError`].
    pub fn parse(path: &str, text: &str) -> Result<Self, TokenFileError> {
        let mut users = HashMap::new();
        let records = csv::records(text)?;
        for (index, record) in records.into_iter().enumerate() {
            let columns = record.len();
            let mut fields = record.into_iter();
            let (Some(token), Some(name), Some(uid)) = (fields.next(), fields.next(), fields.next()) else {
                return Err(TokenFileError::Columns { path: path.to_owned(), found: columns });
            };
            let record_number = index + 1;
            if token.is_empty() {
                tracing::warn!(path, record_number, "token file has a record without a token");
                continue;
            }
            let groups =
                fields.next().map_or_else(Vec::new, |groups| groups.split(',').map(str::to_owned).collect());
            let user = UserInfo { name, uid, groups, ..UserInfo::default() };
            if users.insert(digest(&token), user).is_some() {
                tracing::warn!(path, record_number, "token file has the same token twice");
            }
        }
        Ok(TokenFile { users })
    }

    /// Creates the table from tokens and their users.
    pub fn of<'t>(tokens: impl IntoIterator<Item = (&'t str, UserInfo)>) -> Self {
        TokenFile { users: tokens.into_iter().map(|(token, user)| (digest(token), user)).collect() }
    }

    pub fn user(&self, token: &str) -> Option<&UserInfo> {
        self.users.get(&digest(token))
    }
}

fn digest(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

#[async_trait]
impl TokenAuthenticator for TokenFile {
    async fn authenticate(&self, token: &str, _: &[String], _: &Notes) -> Result<Option<TokenUser>, Error> {
        Ok(self.user(token).map(|user| TokenUser { user: user.clone(), audiences: Vec::new() }))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn user(name: &str, uid: &str, groups: &[&str]) -> UserInfo {
        let groups = groups.iter().map(|&g| g.to_owned()).collect();
        UserInfo { name: name.to_owned(), uid: uid.to_owned(), groups, ..UserInfo::default() }
    }

    #[test]
    fn last_record_of_token_counts() {
        let file = TokenFile::parse(
            "t.csv",
            "t1,ann,1,\"dev,ops\"\nt2,bob,2\n,nobody,3\nt3,cid,4,\nt1,eve,5,x,ignored\n",
        )
        .unwrap();
        let check = |token: &str, expected: Option<UserInfo>| {
            assert_eq!(file.user(token), expected.as_ref(), "{token:?}")
        };
        check("t1", Some(user("eve", "5", &["x"])));
        check("t2", Some(user("bob", "2", &[])));
        check("t3", Some(user("cid", "4", &[""])));
        check("", None);
        check("t", None);
    }

    #[test]
    fn a_broken_file_is_an_error() {
        let check = |text: &str, expected: &str| {
            assert_eq!(TokenFile::parse("t.csv", text).unwrap_err().to_string(), expected)
        };
        check(
            "t,u\n",
            "token file 't.csv' must have at least 3 columns (token, user name, user uid), found 2",
        );
        check("t,u\"x,1\n", "parse error on line 1, column 4: bare \" in non-quoted field");
    }
}
