//! The component.

use executor_common::adapter::Adapter;
use executor_common::seam::{
    Answer, Call, Detection, Failure, Http, IndexRequest, Info, Probe, Sink, Summary,
};

use crate::source;

struct GraphQl;

executor_common::component!(GraphQl);

impl Adapter for GraphQl {
    fn describe() -> Info {
        source::describe()
    }

    fn detect<H: Http>(probe: &Probe, http: &mut H) -> Option<Detection> {
        source::detect(probe, http)
    }

    fn index<H: Http>(request: &IndexRequest, sink: &mut dyn Sink, http: &mut H) -> Result<Summary, Failure> {
        source::index(request, sink, http)
    }

    fn validate<H: Http>(call: &Call, http: &mut H) -> Result<(), Failure> {
        source::validate(call, http)
    }

    fn invoke<H: Http>(call: &Call, http: &mut H) -> Result<Answer, Failure> {
        source::invoke(call, http)
    }
}
