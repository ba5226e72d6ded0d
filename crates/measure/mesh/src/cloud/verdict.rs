//! What an engine's output means for the user: one line, and whether other places can go on. Pure; it knows the words
//! of the engines and of the clouds' APIs.

use serde::Serialize;

use crate::access::Access;
use crate::place::PlaceName;

/// Why a place failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureKind {
    /// Nobody said who asks, or the cloud does not believe it.
    Credentials,
    /// The account has not opted in to the region.
    NotEnabled,
    /// The account may not have so much there.
    Quota,
    /// The cloud has none left there.
    Capacity,
    /// The provider's plugin could not be had.
    Provider,
    /// It was interrupted.
    Interrupted,
    /// Anything else.
    Other,
}

/// Why a place failed, in one line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct EngineFailure {
    /// Kind.
    pub kind: FailureKind,
    /// In words, with what to do.
    pub message: String,
}

/// Words by which a failure is known; the first that occurs decides.
const SIGNS: [(FailureKind, &[&str]); 5] = [
    (
        FailureKind::Provider,
        &[
            "Failed to query available provider packages",
            "Failed to install provider",
            "Could not retrieve the list of available versions",
            "Required plugins are not installed",
            "Failed to load plugin schemas",
        ],
    ),
    (
        FailureKind::NotEnabled,
        &[
            "OptInRequired",
            "region is disabled",
            "is not enabled for this account",
        ],
    ),
    (
        FailureKind::Credentials,
        &[
            "No valid credential sources found",
            "InvalidClientTokenId",
            "AuthFailure",
            "UnrecognizedClientException",
            "ExpiredToken",
            "SignatureDoesNotMatch",
            "could not find default credentials",
            "Attempted to load application default credentials",
            "invalid_grant",
            "project: required field is not set",
            "az login",
            "unable to build authorizer",
            "`subscription_id` is a required provider property",
            "can not create client, bad configuration",
            "did not find a proper configuration",
            "NotAuthenticated",
        ],
    ),
    (
        FailureKind::Quota,
        &[
            "VcpuLimitExceeded",
            "InstanceLimitExceeded",
            "VpcLimitExceeded",
            "AddressLimitExceeded",
            "MaxSpotInstanceCountExceeded",
            "RulesPerSecurityGroupLimitExceeded",
            "QuotaExceeded",
            "quotaExceeded",
            "QUOTA_EXCEEDED",
            "OperationNotAllowed",
            "LimitExceeded",
            "quota",
        ],
    ),
    (
        FailureKind::Capacity,
        &[
            "InsufficientInstanceCapacity",
            "ZONE_RESOURCE_POOL_EXHAUSTED",
            "SkuNotAvailable",
            "AllocationFailed",
            "Out of host capacity",
            "OutOfHostCapacity",
        ],
    ),
];

/// What the output of a failed engine says; `cloud` is empty for machines of the user's own.
pub fn judge(output: &str, cloud: &str) -> EngineFailure {
    // What was only deferred or warned of is not why it failed.
    let errors = output.find("Error: ").map_or(output, |start| &output[start..]);
    let kind = SIGNS
        .iter()
        .find(|(_, signs)| signs.iter().any(|sign| errors.contains(sign)))
        .map_or(FailureKind::Other, |(kind, _)| *kind);
    let said = first_error(errors);
    let message = match kind {
        FailureKind::Credentials => format!("no valid credentials for {cloud}: {} ({said})", log_in(cloud)),
        FailureKind::NotEnabled => not_enabled(&said),
        FailureKind::Quota => {
            format!("the account's quota there is exceeded: request more, or exclude it ({said})")
        }
        FailureKind::Capacity => {
            format!("no such machine is available there: try another type (--machine-type) or later ({said})")
        }
        FailureKind::Provider => format!(
            "the engine cannot download the provider of {cloud}: it needs its registry or a mirror (provider_installation in its \
             configuration) ({said})"
        ),
        _ => said,
    };
    EngineFailure { kind, message }
}

impl EngineFailure {
    /// The same at a place: AWS refuses an account that has not opted in to a region as one that nobody knows.
    #[must_use]
    pub fn at(self, place: &PlaceName) -> Self {
        if self.kind != FailureKind::Credentials || Access::to(place) != Access::OptIn {
            return self;
        }
        EngineFailure {
            kind: FailureKind::NotEnabled,
            message: not_enabled(&self.message),
        }
    }
}

fn not_enabled(said: &str) -> String {
    format!(
        "the account has not opted in to this region: enable it in the account's settings, or exclude it ({said})"
    )
}

fn log_in(cloud: &str) -> &'static str {
    match cloud {
        "aws" => "set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or run 'aws configure'",
        "gcp" => "run 'gcloud auth application-default login' and set GOOGLE_PROJECT",
        "azure" => "run 'az login' and set ARM_SUBSCRIPTION_ID",
        "oracle" => "run 'oci setup config'",
        _ => "log in",
    }
}

/// The engine's first error without its frame, as one short line.
fn first_error(errors: &str) -> String {
    const MOST: usize = 240;
    let mut in_values = false;
    let mut lines = errors
        .lines()
        .map(|line| line.trim_matches(|c: char| c.is_whitespace() || matches!(c, '│' | '╷' | '╵' | '|')))
        .filter(|line| {
            // From a rule to the next empty line: the values that the failing expression had.
            in_values = line.starts_with('├') || (in_values && !line.is_empty());
            !in_values && !line.is_empty()
        });
    let first = lines.next().unwrap_or("no error message");
    let summary = first.strip_prefix("Error: ").unwrap_or(first);
    // Where in the module it was is of no use to anybody.
    let detail = lines
        .take_while(|line| !line.starts_with("Error: "))
        .find(|line| !is_place_in_module(line))
        .unwrap_or("");
    let text = if detail.is_empty() {
        summary.to_owned()
    } else {
        format!("{}: {detail}", summary.trim_end_matches([':', '.']))
    };
    let mut short: String = text
        .chars()
        .take(MOST)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if text.chars().nth(MOST).is_some() {
        short.push_str("...");
    }
    short
}

fn is_place_in_module(line: &str) -> bool {
    let numbered = line
        .split_once(':')
        .is_some_and(|(number, _)| !number.is_empty() && number.chars().all(|c| c.is_ascii_digit()));
    numbered || line.starts_with("with ") || line.starts_with("on ") || line.starts_with("in ")
}

#[cfg(test)]
mod tests {
    use super::*;

    // What Terraform 1.11 and the providers print, as in their issue trackers and as seen with a server of AWS's API.
    const QUOTA: &str = "aws_instance.host1: Creating...\n╷\n│ Error: creating EC2 Instance: operation error EC2: RunInstances, \
        https response error StatusCode: 400, RequestID: 5f, api error VcpuLimitExceeded: You have requested more vCPU capacity \
        than your current vCPU limit of 0 allows\n│ \n│   with aws_instance.host1,\n│   on main.tf.json line 80, in \
        resource.aws_instance.host1:\n│   80:       }\n│ \n╵\n";
    const NONE: &str = "\n╷\n│ Error: No valid credential sources found\n│ \n│   with provider[\"registry.terraform.io/hashicorp/aws\"],\n\
        │   on main.tf.json line 30, in provider.aws:\n│   30:     }\n│ \n│ Please see https://registry.terraform.io/providers/hashicorp/aws\n\
        │ for more information about providing credentials.\n│ \n╵\n";
    const FEW_ZONES: &str = "\nError: Resource precondition failed\n\n  on main.tf.json line 2, in \
        resource.terraform_data.zone3.lifecycle.precondition:\n   2:  \"resource\": { \"terraform_data\": {}}\n    \
        ├────────────────\n    │ local.zones is tuple with 2 elements\n\nThere are fewer than 3 zones with such machines: take \
        fewer (--machines).\n";

    #[test]
    fn a_region_that_the_account_has_not_opted_in_to_is_told_from_missing_credentials() {
        // As EC2 and STS answer there.
        let refused = "Error: validating provider credentials: api error InvalidClientTokenId: The security token included \
                       in the request is invalid.";
        let place = |region: &str| PlaceName::new("aws", region);
        let there = judge(refused, "aws").at(&place("af-south-1"));
        assert_eq!(there.kind, FailureKind::NotEnabled);
        assert!(there.message.contains("has not opted in"), "{there}");
        assert_eq!(
            judge(refused, "aws").at(&place("eu-west-1")).kind,
            FailureKind::Credentials
        );
        let said = judge(
            "Error: creating EC2 VPC: api error OptInRequired: You are not subscribed to this service.",
            "aws",
        );
        assert_eq!(said.kind, FailureKind::NotEnabled);
    }

    #[test]
    fn a_quota_is_told_from_missing_credentials_and_from_the_rest() {
        let quota = judge(QUOTA, "aws");
        assert_eq!(quota.kind, FailureKind::Quota);
        assert!(quota.message.contains("VcpuLimitExceeded"), "{quota}");
        let none = judge(NONE, "aws");
        assert_eq!(none.kind, FailureKind::Credentials);
        assert!(
            none.message.contains("AWS_PROFILE") && !none.message.contains('\n'),
            "{none}"
        );
        let google = judge(
            "Error: Attempted to load application default credentials since neither `credentials` nor `access_token` was set",
            "gcp",
        );
        assert_eq!(google.kind, FailureKind::Credentials);
        assert!(google.message.contains("gcloud auth"), "{google}");
        let other = judge(
            "╷\n│ Error: local-exec provisioner error\n│ \n│   with terraform_data.host1,\n│   on main.tf.json line 9:\n│    9: }\n│ \n\
             │ Error running command 'h1': exit status 4. Output: no room\n╵\n",
            "",
        );
        assert_eq!(other.kind, FailureKind::Other);
        assert_eq!(
            other.message,
            "local-exec provisioner error: Error running command 'h1': exit status 4. Output: no room"
        );
        assert_eq!(judge("", "aws").message, "no error message");
        let few = judge(FEW_ZONES, "aws");
        assert_eq!(
            few.message,
            "Resource precondition failed: There are fewer than 3 zones with such machines: take fewer (--machines)."
        );
    }
}
