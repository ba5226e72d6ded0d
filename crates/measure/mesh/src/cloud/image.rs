//! Systems that machines are launched with. It knows their names and which cloud has them with cloud-init, not how a cloud is
//! asked for an image.

use std::str::FromStr;

use crate::MeshError;
use crate::fault::shown;

/// A system whose image has cloud-init, OpenSSH and PAM's limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Image {
    /// Ubuntu 24.04, in every cloud.
    #[default]
    Ubuntu,
    /// Debian 12, on AWS and Azure: Google's images of it have no cloud-init, and Oracle has none.
    Debian,
    /// Amazon Linux 2023, on AWS.
    AmazonLinux,
    /// Oracle Linux 9, on Oracle's cloud.
    OracleLinux,
}

impl Image {
    /// That a cloud has it.
    ///
    /// # Errors
    /// When it has not, with what it has.
    pub fn check(self, cloud: &str) -> Result<(), MeshError> {
        let (cloud, has, problem): (_, &[Image], _) = match cloud {
            "aws" => (
                "aws",
                &[Image::Ubuntu, Image::Debian, Image::AmazonLinux],
                "has images of ubuntu, debian and amazon-linux: name one of them with --image",
            ),
            "gcp" => (
                "gcp",
                &[Image::Ubuntu],
                "has cloud-init in its images of ubuntu only: remove --image gcp=...",
            ),
            "azure" => (
                "azure",
                &[Image::Ubuntu, Image::Debian],
                "has images of ubuntu and debian: name one of them with --image",
            ),
            _ => (
                "oracle",
                &[Image::Ubuntu, Image::OracleLinux],
                "has images of ubuntu and oracle-linux: name one of them with --image",
            ),
        };
        if has.contains(&self) {
            return Ok(());
        }
        Err(MeshError::NotOffered { cloud, problem })
    }
}

impl FromStr for Image {
    type Err = MeshError;

    fn from_str(text: &str) -> Result<Self, MeshError> {
        match text {
            "ubuntu" => Ok(Image::Ubuntu),
            "debian" => Ok(Image::Debian),
            "amazon-linux" => Ok(Image::AmazonLinux),
            "oracle-linux" => Ok(Image::OracleLinux),
            _ => Err(MeshError::BadForm {
                text: shown(text),
                what: "system for machines",
                form: "use ubuntu, debian, amazon-linux or oracle-linux",
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::CLOUDS;

    #[test]
    fn each_cloud_has_ubuntu_and_its_own() {
        for cloud in CLOUDS {
            assert_eq!(Image::default().check(cloud), Ok(()));
        }
        let (amazon, oracle, debian) = (Image::AmazonLinux, Image::OracleLinux, Image::Debian);
        assert!(amazon.check("aws").is_ok() && oracle.check("oracle").is_ok());
        assert!(debian.check("aws").is_ok() && debian.check("azure").is_ok());
        for (image, cloud) in [
            (amazon, "gcp"),
            (oracle, "aws"),
            (debian, "gcp"),
            (debian, "oracle"),
        ] {
            let error = image.check(cloud).unwrap_err().to_string();
            assert!(error.starts_with(cloud) && error.contains("--image"), "{error}");
        }
        assert!(
            "windows"
                .parse::<Image>()
                .unwrap_err()
                .to_string()
                .contains("oracle-linux")
        );
    }
}
