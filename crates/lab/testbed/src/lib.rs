//! Testbeds: workflows of media functions (ISO/IEC 23090-8, NBMP) on this host, each task in a network namespace of its own, on
//! its own cores, joined by links whose interfaces the kernel counts; so that IN, OUT, CPU time and memory of any function are
//! measured without its word. It knows namespaces, links, processes and function documents; it must not know what is inside of a
//! function, how titles are made, where results are kept, or how they are drawn.

mod api;
mod audience;
mod cache_log;
mod comparison;
mod document;
mod error;
mod filling;
mod form;
mod function;
mod host;
mod kubernetes;
mod local_host;
mod measured;
mod model;
mod nagare;
mod network;
mod own_metrics;
mod own_origin;
mod packaged;
mod place;
mod plain_http;
mod programs;
mod relay;
mod response;
mod result;
mod run;
mod short;
mod state;
mod traffic;
mod vary;
mod workflow;

pub use api::{Answer, ApiConfig, ApiServer, Asked, Job, MOST_WORKFLOWS, Workflows};
pub use audience::{Audience, Catalogue, Cost, Machine, Reach, Wanted};
pub use cache_log::CacheCounts;
pub use comparison::{Published, PublishedRow, page, rows};
pub use document::Document;
pub use error::TestbedError;
pub use filling::Served;
pub use form::Form;
pub use function::{Content, Function, Functions, ParameterSpec, ProgramSpec, Ready};
pub use kubernetes::{Cluster, TITLES, kubernetes};
pub use nagare::{Nagare, nagare};
pub use own_metrics::OwnCounts;
pub use packaged::package;
pub use response::Responses;
pub use result::{CapacityResult, SinkResult, Summary, TaskResult};
pub use run::{Ended, Setting, Watch, run};
pub use state::{Registry, TaskState, TaskStatus, TestbedState};
pub use traffic::Way;
pub use vary::{Values, Varied, combinations, order};
pub use workflow::{Capabilities, Task, Workflow, read};
