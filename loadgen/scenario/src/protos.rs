//! Services and messages of Protocol Buffers, compiled from `.proto` files.

use std::fmt;

use bytes::Bytes;
use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor, MethodDescriptor};
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use sha2::{Digest, Sha256};

/// The compiled `.proto` files of a scenario, with all that they import. A clone shares them.
///
/// They travel as an encoded `FileDescriptorSet`, which every Protocol Buffers compiler can write.
/// Each process decodes the set once, when it receives the scenario.
#[derive(Clone)]
pub struct Protos {
    set: Bytes,
    pool: DescriptorPool,
}

impl Protos {
    /// Decodes a `FileDescriptorSet`. Returns a sentence if the set contradicts itself.
    pub(super) fn new(set: Bytes) -> Result<Self, String> {
        let pool = DescriptorPool::decode(set.clone()).map_err(|e| e.to_string())?;
        Ok(Self { set, pool })
    }

    /// Returns the method of a path such as `/package.Service/Method`.
    #[must_use]
    pub fn method(&self, path: &str) -> Option<MethodDescriptor> {
        let (service, method) = path.strip_prefix('/')?.split_once('/')?;
        self.pool.get_service_by_name(service)?.methods().find(|it| it.name() == method)
    }

    /// Returns the names of all methods, such as `package.Service/Method`.
    #[must_use]
    pub fn methods(&self) -> Vec<String> {
        let of_services = self.pool.services().flat_map(|service| {
            let name = |method: MethodDescriptor| {
                format!("{}/{}", method.parent_service().full_name(), method.name())
            };
            service.methods().map(name).collect::<Vec<_>>()
        });
        of_services.collect()
    }
}

/// Reads a message from its JSON form (<https://protobuf.dev/programming-guides/json/>). Returns a
/// sentence if the JSON is not of such a message.
pub fn message_of_json(kind: &MessageDescriptor, json: &str) -> Result<DynamicMessage, String> {
    let mut reader = serde_json::Deserializer::from_str(json);
    let message = DynamicMessage::deserialize(kind.clone(), &mut reader);
    message.and_then(|message| reader.end().map(|()| message)).map_err(without_place)
}

/// Reads the messages in an array of their JSON forms, as [`message_of_json`] does.
pub fn messages_of_json(
    kind: &MessageDescriptor,
    json: &str,
) -> Result<Vec<DynamicMessage>, String> {
    let mut reader = serde_json::Deserializer::from_str(json);
    let messages = reader.deserialize_seq(Messages(kind));
    messages.and_then(|messages| reader.end().map(|()| messages)).map_err(without_place)
}

/// Without the place, which is one within a text that nobody has written.
fn without_place(error: serde_json::Error) -> String {
    let error = error.to_string();
    error.split(" at line ").next().unwrap_or_default().to_owned()
}

/// Reads an array of messages of a type.
struct Messages<'a>(&'a MessageDescriptor);

impl<'de> Visitor<'de> for Messages<'_> {
    type Value = Vec<DynamicMessage>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of messages")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut all = Vec::new();
        while let Some(message) = items.next_element_seed(self.0.clone())? {
            all.push(message);
        }
        Ok(all)
    }
}

impl PartialEq for Protos {
    fn eq(&self, other: &Self) -> bool {
        self.set == other.set
    }
}

impl fmt::Debug for Protos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digest = format!("{:x}", Sha256::digest(&self.set));
        let mut shown = f.debug_struct("Protos");
        shown.field("methods", &self.methods()).field("sha256", &digest).finish()
    }
}

impl Serialize for Protos {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        serde_bytes::serialize(&self.set[..], to)
    }
}

impl<'de> Deserialize<'de> for Protos {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let set: Vec<u8> = serde_bytes::deserialize(from)?;
        Self::new(set.into()).map_err(de::Error::custom)
    }
}

/// Compiles the text of a `.proto` file, which may import those of `google/protobuf/`.
pub fn protos_of_text(text: &'static str) -> Result<Protos, String> {
    use protox::file::{ChainFileResolver, File, FileResolver, GoogleFileResolver};

    struct Only(&'static str);

    impl FileResolver for Only {
        fn open_file(&self, name: &str) -> Result<File, protox::Error> {
            match name {
                "only.proto" => File::from_source(name, self.0),
                _ => Err(protox::Error::file_not_found(name)),
            }
        }
    }

    let mut resolver = ChainFileResolver::new();
    resolver.add(Only(text));
    resolver.add(GoogleFileResolver::new());
    let mut compiler = protox::Compiler::with_file_resolver(resolver);
    let compiled = compiler.include_imports(true).open_file("only.proto");
    let set = compiled.map_err(|e| e.to_string())?.encode_file_descriptor_set();
    Protos::new(set.into())
}
