//! As much of JSON Schema as our document uses, read strictly: a field that is not described is a mistake, and so is a word in
//! the schema that is not understood here.

use serde_json::{Map, Value};

pub(crate) struct Document(Value);

const KNOWN: [&str; 17] = [
    "$ref",
    "type",
    "description",
    "required",
    "properties",
    "additionalProperties",
    "items",
    "prefixItems",
    "minItems",
    "maxItems",
    "minimum",
    "maximum",
    "pattern",
    "format",
    "enum",
    "const",
    "oneOf",
];

impl Document {
    pub(crate) fn new(value: Value) -> Self {
        assert_eq!(value["openapi"], "3.1.0");
        Self(value)
    }

    pub(crate) fn whole(&self) -> &Value {
        &self.0
    }

    pub(crate) fn paths(&self) -> &Map<String, Value> {
        self.0["paths"].as_object().unwrap()
    }

    pub(crate) fn find(&self, reference: &str) -> Option<&Value> {
        self.0.pointer(reference.strip_prefix('#')?)
    }

    /// Whether a value is as a schema says; if not, where and why.
    pub(crate) fn check(&self, schema: &Value, value: &Value) -> Result<(), String> {
        let schema = schema.as_object().ok_or("a schema is an object")?;
        if let Some(reference) = schema.get("$ref") {
            let reference = reference.as_str().unwrap_or_default();
            let found = self.find(reference).ok_or_else(|| format!("{reference} leads nowhere"))?;
            return self.check(found, value).map_err(|wrong| format!("{reference}: {wrong}"));
        }
        if let Some(word) = schema.keys().find(|word| !KNOWN.contains(&word.as_str())) {
            return Err(format!("`{word}` is not understood"));
        }
        if let Some(ways) = schema.get("oneOf").and_then(Value::as_array) {
            let wrongs: Vec<String> = ways.iter().filter_map(|way| self.check(way, value).err()).collect();
            let right = ways.len() - wrongs.len();
            return if right == 1 { Ok(()) } else { Err(format!("{right} of {} fit: {wrongs:?}", ways.len())) };
        }
        if let Some(only) = schema.get("const") {
            return if only == value { Ok(()) } else { Err(format!("{value} is not {only}")) };
        }
        check_type(schema, value)?;
        match value {
            Value::Object(fields) => self.check_object(schema, fields),
            Value::Array(items) => self.check_array(schema, items),
            Value::String(text) => check_text(schema, text),
            Value::Number(number) => {
                let number = number.as_f64().unwrap_or(f64::NAN);
                let least = schema.get("minimum").and_then(Value::as_f64).unwrap_or(f64::MIN);
                let most = schema.get("maximum").and_then(Value::as_f64).unwrap_or(f64::MAX);
                if (least..=most).contains(&number) { Ok(()) } else { Err(format!("{number} is out of range")) }
            }
            Value::Null | Value::Bool(_) => Ok(()),
        }
    }

    fn check_object(&self, schema: &Map<String, Value>, fields: &Map<String, Value>) -> Result<(), String> {
        for name in schema.get("required").and_then(Value::as_array).into_iter().flatten() {
            let name = name.as_str().unwrap_or_default();
            if !fields.contains_key(name) {
                return Err(format!("`{name}` is missing"));
            }
        }
        for (name, value) in fields {
            let described = schema.get("properties").and_then(|properties| properties.get(name));
            match described.or_else(|| schema.get("additionalProperties")) {
                Some(Value::Bool(true)) => {}
                None | Some(Value::Bool(false)) => return Err(format!("`{name}` is not described")),
                Some(described) => self.check(described, value).map_err(|wrong| format!("{name}: {wrong}"))?,
            }
        }
        Ok(())
    }

    fn check_array(&self, schema: &Map<String, Value>, items: &[Value]) -> Result<(), String> {
        let count = |word: &str| schema.get(word).and_then(Value::as_u64);
        let len = items.len() as u64;
        if count("minItems").is_some_and(|least| len < least) || count("maxItems").is_some_and(|most| len > most) {
            return Err(format!("{len} items are too few or too many"));
        }
        let first = schema.get("prefixItems").and_then(Value::as_array);
        for (n, item) in items.iter().enumerate() {
            let described = first.and_then(|first| first.get(n)).or_else(|| schema.get("items"));
            let described = described.ok_or_else(|| format!("item {n} is not described"))?;
            self.check(described, item).map_err(|wrong| format!("{n}: {wrong}"))?;
        }
        Ok(())
    }
}

fn check_type(schema: &Map<String, Value>, value: &Value) -> Result<(), String> {
    let is = |name: &Value| match (name.as_str().unwrap_or_default(), value) {
        ("object", Value::Object(_)) | ("array", Value::Array(_)) | ("string", Value::String(_)) => true,
        ("boolean", Value::Bool(_)) | ("null", Value::Null) | ("number", Value::Number(_)) => true,
        ("integer", Value::Number(number)) => number.is_i64() || number.is_u64(),
        _ => false,
    };
    let fits = match schema.get("type") {
        Some(Value::Array(names)) => names.iter().any(is),
        Some(name) => is(name),
        None => return Err("a schema without a type".to_owned()),
    };
    if fits { Ok(()) } else { Err(format!("{value} is not {}", schema["type"])) }
}

fn check_text(schema: &Map<String, Value>, text: &str) -> Result<(), String> {
    if let Some(choices) = schema.get("enum").and_then(Value::as_array)
        && !choices.iter().any(|choice| choice == text)
    {
        return Err(format!("`{text}` is not among {choices:?}"));
    }
    let pattern = schema.get("pattern").and_then(Value::as_str);
    if let Some(pattern) = pattern
        && !regex::Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(text))
    {
        return Err(format!("`{text}` is not like {pattern}"));
    }
    let has_format = match schema.get("format").and_then(Value::as_str) {
        None => true,
        Some("date-time") => text.ends_with('Z') && herodotus_base::Timestamp::parse(text).is_ok(),
        Some("date") => text.len() == 10 && herodotus_base::Timestamp::parse(text).is_ok(),
        Some(_) => false,
    };
    if has_format { Ok(()) } else { Err(format!("`{text}` is not a {}", schema["format"])) }
}
