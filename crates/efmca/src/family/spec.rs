//! A family as settings hold it: by name, or the family itself.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Family, SharedFamily, family};
use crate::error::Result;

/// A family in the settings of a task: a specification such as `gamma:k=4`, or a family of your own.
///
/// Everything that takes a family takes anything that can become one:
///
/// ```
/// use efmca::{Em, family::{family, Poisson}};
/// use std::sync::Arc;
///
/// let by_name = Em::new(3).family("poisson");
/// assert_eq!(by_name, Em::new(3).family(family("poisson")?));
/// assert_eq!(by_name, Em::new(3).family(Arc::new(Poisson)));
/// # Ok::<(), efmca::Error>(())
/// ```
///
/// A name is looked up when the settings are checked, so that a misspelt one is an error there and not a panic here. Two of them
/// are equal if their specifications are.
#[derive(Debug, Clone)]
pub struct FamilySpec(Inner);

#[derive(Debug, Clone)]
enum Inner {
    Named(String),
    Itself(SharedFamily),
}

impl FamilySpec {
    /// The family.
    ///
    /// # Errors
    ///
    /// [`UnknownFamily`](crate::Error::UnknownFamily) or [`FamilyParameter`](crate::Error::FamilyParameter) if the specification
    /// names none.
    pub fn resolve(&self) -> Result<SharedFamily> {
        match &self.0 {
            Inner::Named(spec) => family(spec),
            Inner::Itself(family) => Ok(family.clone()),
        }
    }

    /// The specification, in its usual form where it names a family.
    pub fn spec(&self) -> String {
        match &self.0 {
            Inner::Named(spec) => family(spec).map_or_else(|_| spec.clone(), |family| family.spec()),
            Inner::Itself(family) => family.spec(),
        }
    }
}

impl PartialEq for FamilySpec {
    fn eq(&self, other: &FamilySpec) -> bool {
        self.spec() == other.spec()
    }
}

impl fmt::Display for FamilySpec {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.spec())
    }
}

impl From<&str> for FamilySpec {
    fn from(spec: &str) -> FamilySpec {
        FamilySpec(Inner::Named(spec.to_owned()))
    }
}

impl From<String> for FamilySpec {
    fn from(spec: String) -> FamilySpec {
        FamilySpec(Inner::Named(spec))
    }
}

impl From<&String> for FamilySpec {
    fn from(spec: &String) -> FamilySpec {
        FamilySpec::from(spec.as_str())
    }
}

impl From<SharedFamily> for FamilySpec {
    fn from(family: SharedFamily) -> FamilySpec {
        FamilySpec(Inner::Itself(family))
    }
}

impl From<&SharedFamily> for FamilySpec {
    fn from(family: &SharedFamily) -> FamilySpec {
        FamilySpec(Inner::Itself(family.clone()))
    }
}

impl<F: Family + 'static> From<Arc<F>> for FamilySpec {
    fn from(family: Arc<F>) -> FamilySpec {
        FamilySpec(Inner::Itself(family))
    }
}

impl Serialize for FamilySpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.spec())
    }
}

impl<'de> Deserialize<'de> for FamilySpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<FamilySpec, D::Error> {
        String::deserialize(deserializer).map(FamilySpec::from)
    }
}
