//! The component.

use executor_common::adapter::Adapter;
use executor_common::seam::{
    Answer, Call, Detection, Failure, Http, IndexRequest, Info, Probe, Sink, Summary,
};

use crate::source;

struct OpenApi;

executor_common::component!(OpenApi);

impl Adapter for OpenApi {
    fn describe() -> Info {
        source::describe()
    }

    fn detect<H: Http>(probe: &Probe, _: &mut H) -> Option<Detection> {
        source::detect(probe)
    }

    fn index<H: Http>(request: &IndexRequest, sink: &mut dyn Sink, http: &mut H) -> Result<Summary, Failure> {
        source::index(request, sink, http)
    }

    fn validate<H: Http>(call: &Call, _: &mut H) -> Result<(), Failure> {
        source::validate(call)
    }

    fn invoke<H: Http>(call: &Call, http: &mut H) -> Result<Answer, Failure> {
        source::invoke(call, http)
    }
}
