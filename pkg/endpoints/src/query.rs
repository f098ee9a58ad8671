//! Query parameters.

/// The decoded parameters of a query, in order.
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    /// Splits and decodes a raw query. Broken escapes stay as they are.
    pub(crate) fn parse(raw: Option<&str>) -> Self {
        // Go's parser drops parts with a semicolon.
        let parts = raw.unwrap_or("").split('&').filter(|part| !part.contains(';'));
        Query(parts.flat_map(|part| form_urlencoded::parse(part.as_bytes()).into_owned()).collect())
    }

    /// The first value of a parameter.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }

    /// All parameters.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&str, &str)> + Clone {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}
