//! What can be asked for: one table of methods and paths, from which the router is made and the description checked. It
//! must not know how it is answered.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, delete, get, patch};
use weir_local::Rules;
use weir_report::PAGE;

use crate::app::App;
use crate::headers::protect;
use crate::problem::Problem;
use crate::{changes, events, list, runs, watched};

/// Where the API is; the page itself holds nothing that anybody may not see.
const API: &str = "/api/";

/// Who may ask for what.
pub const RULES: Rules = Rules {
    guarded: API,
    header: true,
    command: "weir ui",
};

/// The description of the API, OpenAPI 3.1: the file in `docs/schemas`.
pub const OPENAPI: &str = include_str!("../../../../docs/schemas/openapi.json");

type Handler = MethodRouter<Arc<App>>;

fn table() -> [(&'static str, &'static str, Handler); 9] {
    [
        ("GET", "/", get(page)),
        ("GET", "/api/v1/openapi.json", get(openapi)),
        ("GET", "/api/v1/runs", get(list::list)),
        ("PATCH", "/api/v1/runs/{run_id}", patch(changes::change)),
        ("DELETE", "/api/v1/runs/{run_id}", delete(changes::delete)),
        ("GET", "/api/v1/runs/{run_id}/data", get(runs::data)),
        ("GET", "/api/v1/runs/{run_id}/events", get(events::events)),
        ("GET", "/api/v1/runs/{run_id}/report", get(runs::report)),
        ("GET", "/api/v1/watch", get(watched::watched)),
    ]
}

/// Methods and paths of all that can be asked for, paths as in the description.
pub fn routes() -> Vec<(&'static str, &'static str)> {
    table().map(|(method, path, _)| (method, path)).to_vec()
}

/// The router.
pub fn router(app: Arc<App>) -> Router {
    let mut router = Router::new();
    for (_, path, handler) in table() {
        router = router.route(path, handler);
    }
    router
        .fallback(nothing)
        .method_not_allowed_fallback(wrong_method)
        .layer(from_fn_with_state(app.clone(), guarded))
        .with_state(app)
}

/// Asks the guard before anything else, and puts the headers on whatever is answered.
async fn guarded(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let mut response = match app
        .guard
        .check(request.method(), request.uri(), request.headers())
    {
        Ok(()) => next.run(request).await,
        Err(refusal) => Problem::from(refusal).into_response(),
    };
    protect(response.headers_mut());
    response
}

async fn page(State(app): State<Arc<App>>) -> Response {
    let headers = [
        (
            header::CONTENT_TYPE,
            HeaderValue::from_static("text/html; charset=utf-8"),
        ),
        (header::CONTENT_SECURITY_POLICY, app.page_policy.clone()),
    ];
    (headers, PAGE).into_response()
}

async fn openapi() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], OPENAPI).into_response()
}

async fn nothing(request: Request) -> Problem {
    let what = if request.uri().path().starts_with(API) {
        "there is nothing at this path; /api/v1/openapi.json describes what there is"
    } else {
        "there is nothing at this path; the page is at /"
    };
    Problem::new(StatusCode::NOT_FOUND, what)
}

async fn wrong_method() -> Problem {
    Problem::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "this cannot be done here; /api/v1/openapi.json says what can",
    )
}
