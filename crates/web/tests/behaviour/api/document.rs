//! The operations of an OpenAPI document, with the examples it gives for their parameters.

use super::schema::Document;
use serde_json::Value;

pub(crate) struct Operation {
    pub(crate) id: String,
    pub(crate) method: String,
    pub(crate) status: String,
    path: String,
    about: Value,
}

pub(crate) fn operations(document: &Document) -> Vec<Operation> {
    let mut operations = Vec::new();
    for (path, methods) in document.paths() {
        for (method, about) in methods.as_object().unwrap() {
            let mut statuses = about["responses"].as_object().unwrap().keys().filter(|status| *status != "default");
            let status = statuses.next().unwrap().clone();
            assert!(statuses.next().is_none() && about["responses"]["default"].is_object(), "{path}");
            let id = about["operationId"].as_str().unwrap().to_owned();
            assert!(about["summary"].as_str().is_some_and(|text| !text.is_empty()), "{id}");
            operations.push(Operation { id, method: method.clone(), status, path: path.clone(), about: about.clone() });
        }
    }
    operations
}

impl Operation {
    fn content(&self) -> (&str, &Value) {
        let content = self.about["responses"][&self.status]["content"].as_object().unwrap();
        assert_eq!(content.len(), 1, "{}", self.id);
        content.iter().map(|(media, about)| (media.as_str(), about)).next().unwrap()
    }

    pub(crate) fn media(&self) -> &str {
        self.content().0
    }

    pub(crate) fn schema(&self) -> &Value {
        &self.content().1["schema"]
    }

    pub(crate) fn body(&self) -> String {
        match &self.about["requestBody"]["content"]["application/json"]["example"] {
            Value::Null => String::new(),
            example => example.to_string(),
        }
    }

    /// Path and query with the examples of the parameters.
    pub(crate) fn target(&self, with_options: bool) -> String {
        let (mut path, mut query) = (self.path.clone(), Vec::new());
        for parameter in self.about["parameters"].as_array().into_iter().flatten() {
            let name = parameter["name"].as_str().unwrap();
            let example = match &parameter["example"] {
                Value::String(text) => text.clone(),
                Value::Null => panic!("{}: {name} has no example", self.id),
                other => other.to_string(),
            };
            assert!(parameter["description"].is_string(), "{}: {name}", self.id);
            let value: String = example.bytes().map(|byte| format!("%{byte:02X}")).collect();
            match parameter["in"].as_str().unwrap() {
                "path" => path = path.replace(&format!("{{{name}}}"), &value),
                "query" if with_options || parameter["required"] == true => query.push(format!("{name}={value}")),
                "query" => {}
                other => panic!("{other}"),
            }
        }
        assert!(!path.contains('{'), "{path}");
        if query.is_empty() { path } else { format!("{path}?{}", query.join("&")) }
    }
}
