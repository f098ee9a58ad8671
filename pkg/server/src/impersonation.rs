//! `Impersonate-*` headers. Acting for someone else is not built yet, so a request that asks for it
//! is refused, never served as the one who sent it.

use http::HeaderMap;

use apimachinery::go_quote::quote;
use apimachinery::request_info::RequestInfo;
use apimachinery::status::Status;
use authentication::Authenticated;
use authorization::{Attributes, Authorizer, authorize};

const USER: &str = "impersonate-user";
const UID: &str = "impersonate-uid";
const GROUP: &str = "impersonate-group";
const EXTRA_PREFIX: &str = "impersonate-extra-";

/// The verb prefix under which impersonating anyone is authorized (KEP-5284).
const ON_USER_INFO: &str = "impersonate-on:user-info:";

/// Passes requests that act for their own sender.
///
/// # Errors
/// 400 for headers that name no user; upstream's 403 for a sender who may not impersonate; 501 for
/// one who may.
pub(crate) async fn check(
    headers: &HeaderMap,
    sender: &Authenticated,
    info: &RequestInfo,
    authorizer: &dyn Authorizer,
) -> Result<(), Box<Status>> {
    if !headers.keys().any(|name| name.as_str().starts_with("impersonate-")) {
        return Ok(());
    }
    let wanted = Wanted::from(headers);
    if wanted.user.is_empty() {
        return wanted.without_user();
    }
    let on_user_info = RequestInfo { verb: format!("{ON_USER_INFO}{}", info.verb), ..info.clone() };
    authorize(authorizer, Attributes { user: sender.user(), info: &on_user_info }).await?;
    let message = "impersonation is not supported by this version of the server";
    Err(Box::new(Status::failure(501, "", message)))
}

/// Whom the headers name.
struct Wanted<'h> {
    user: &'h str,
    uid: &'h str,
    groups: Vec<&'h str>,
    /// Keys in the spelling of Go's canonical headers, in order.
    extra: Vec<(String, Vec<&'h str>)>,
}

impl<'h> From<&'h HeaderMap> for Wanted<'h> {
    fn from(headers: &'h HeaderMap) -> Self {
        let text = |value: &'h http::HeaderValue| value.to_str().unwrap_or_default();
        let first = |name: &str| headers.get(name).map_or("", text);
        let mut extra: Vec<(String, Vec<&str>)> = headers
            .keys()
            .filter_map(|name| {
                let key = name.as_str().strip_prefix(EXTRA_PREFIX)?;
                Some((key.to_owned(), headers.get_all(name).iter().map(text).collect()))
            })
            .collect();
        extra.sort();
        Wanted {
            user: first(USER),
            uid: first(UID),
            groups: headers.get_all(GROUP).iter().map(text).collect(),
            extra,
        }
    }
}

impl Wanted<'_> {
    /// Groups, a uid or extras of nobody are a mistake, reported as Go prints the user that they make;
    /// other `Impersonate-` headers mean nothing.
    fn without_user(&self) -> Result<(), Box<Status>> {
        if self.uid.is_empty() && self.groups.is_empty() && self.extra.is_empty() {
            return Ok(());
        }
        let list = |items: &[&str]| items.iter().map(|item| quote(item)).collect::<Vec<_>>().join(", ");
        let groups = match self.groups.as_slice() {
            [] => "[]string(nil)".to_owned(),
            groups => format!("[]string{{{}}}", list(groups)),
        };
        let extra = match self.extra.as_slice() {
            [] => "map[string][]string(nil)".to_owned(),
            extra => {
                let pairs: Vec<String> = extra
                    .iter()
                    .map(|(key, values)| format!("{}:[]string{{{}}}", quote(key), list(values)))
                    .collect();
                format!("map[string][]string{{{}}}", pairs.join(", "))
            }
        };
        Err(Box::new(Status::bad_request(format!(
            "requested &user.DefaultInfo{{Name:\"\", UID:{}, Groups:{groups}, Extra:{extra}}} without impersonating a user name",
            quote(self.uid)
        ))))
    }
}
