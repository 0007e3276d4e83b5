//! Reads and writes a request as a line: the name of a method, and its parameters.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Message;

/// Makes the two enums that have a variant for each method, and the code that must know every method.
macro_rules! methods {
    ($($method:ident),*) => {
        /// A request on the wire: the parameters of its method, not checked yet.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Message {
            $(
                #[doc = concat!("Parameters of [`", stringify!($method), "`].")]
                $method($method),
            )*
        }

        /// A checked request for the owner of state, with the way back to the client.
        #[derive(Debug)]
        pub enum Call {
            $(
                #[doc = concat!("What [`", stringify!($method), "`] asks for.")]
                $method(PendingRequest<$method>),
            )*
        }

        $(
            impl method::Listed for $method {
                fn call(asked: PendingRequest<Self>) -> Call {
                    Call::$method(asked)
                }
            }
        )*

        /// Calls the visitor with every method.
        #[cfg(test)]
        pub fn visit_all(visitor: &mut impl document::Visitor) {
            $(visitor.visit::<$method>();)*
        }

        impl Message {
            /// Reads the parameters of the method of this name.
            fn of<'de, D: serde::Deserializer<'de>>(method: &str, parameters: D) -> Result<Self, D::Error> {
                match method {
                    $(<$method as Method>::NAME => $method::deserialize(parameters).map(Self::$method),)*
                    _ => Err(serde::de::Error::custom(format_args!("there is no method {method}"))),
                }
            }

            /// Hands the parameters to the code that answers any method.
            pub async fn give(self, to: &mut impl Answers) -> std::io::Result<()> {
                match self {
                    $(Self::$method(parameters) => to.answer(parameters).await,)*
                }
            }
        }
    };
}
pub(super) use methods;

/// A request that is written to the wire.
#[derive(Serialize)]
pub struct Envelope<'a, M> {
    /// Name of the method.
    pub method: &'static str,
    /// The SSH connection of the user who asks: address and port of the other end, and of this host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub came_by: Option<&'a str>,
    /// Parameters of the method.
    pub parameters: &'a M,
}

/// A request that was read from the wire.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestLine {
    /// The method and parameters of the request.
    pub message: Message,
    /// The SSH connection that the client claims to have come by.
    pub came_by: Option<String>,
}

impl<'de> Deserialize<'de> for RequestLine {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(RequestVisitor)
    }
}

impl<'de> Deserialize<'de> for Message {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        RequestLine::deserialize(deserializer).map(|line| line.message)
    }
}

/// A JSON object that should be a message.
struct RequestVisitor;

impl<'de> Visitor<'de> for RequestVisitor {
    type Value = RequestLine;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object with a method and its parameters")
    }

    /// The name nearly always comes first, and the parameters are then read straight into their type. Varlink allows a
    /// message to omit parameters if all are optional, and to have fields of its own, which are ignored.
    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<RequestLine, A::Error> {
        let mut came_by = None;
        let (mut method, mut early, mut message) = (None::<String>, None::<Value>, None);
        while let Some(field) = fields.next_key::<String>()? {
            match (field.as_str(), &method) {
                ("came_by", _) => came_by = fields.next_value()?,
                ("method", None) => method = Some(fields.next_value()?),
                ("parameters", _) if early.is_some() || message.is_some() => {
                    return Err(A::Error::duplicate_field("parameters"));
                }
                ("parameters", Some(method)) => {
                    message = Some(fields.next_value_seed(Parameters { method })?)
                }
                ("parameters", None) => early = Some(fields.next_value()?),
                ("method", Some(_)) => return Err(A::Error::duplicate_field("method")),
                _ => _ = fields.next_value::<IgnoredAny>()?,
            }
        }
        let Some(method) = method else { return Err(A::Error::missing_field("method")) };
        let late = |parameters| Message::of(&method, parameters).map_err(A::Error::custom);
        let message =
            message.map_or_else(|| late(early.unwrap_or_else(|| Value::Object(Default::default()))), Ok)?;
        Ok(RequestLine { message, came_by })
    }
}

/// Reads the parameters of the method of this name.
struct Parameters<'a> {
    method: &'a str,
}

impl<'de> DeserializeSeed<'de> for Parameters<'_> {
    type Value = Message;

    fn deserialize<D: Deserializer<'de>>(self, parameters: D) -> Result<Message, D::Error> {
        Message::of(self.method, parameters)
    }
}
