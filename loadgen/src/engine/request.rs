//! A step's request, rendered.

use crate::scenario::{Data, Step};

/// One request with all generated parts filled in. Its buffers are used again for the next one.
#[derive(Debug, Default)]
pub struct Request {
    /// Base URL, path and query.
    pub url: String,
    /// Header names and values.
    pub headers: Vec<(String, String)>,
    /// The body, where the step has one.
    pub body: Option<String>,
}

impl Request {
    /// Fills in `step`.
    pub fn render(&mut self, base_url: &str, step: &Step, data: &mut Data) {
        self.url.clear();
        self.url.push_str(base_url);
        step.path.render(data, &mut self.url);
        self.headers.clear();
        for (name, value) in &step.headers {
            let mut text = String::new();
            value.render(data, &mut text);
            self.headers.push((name.clone(), text));
        }
        self.body = step.body.as_ref().map(|body| {
            if !step.headers.iter().any(|(name, _)| name == "content-type") {
                self.headers.push(("content-type".to_owned(), body.content_type.clone()));
            }
            let mut text = String::new();
            body.text.render(data, &mut text);
            text
        });
    }
}
