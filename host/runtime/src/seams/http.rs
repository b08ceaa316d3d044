//! `executor:adapter/http`: requests through the host.

use std::time::Duration;

use executor_bindings::adapter::executor::adapter::{blobs as wit_blobs, http, types::Failure};
use tokio::task::JoinHandle;
use wasmtime::component::Resource;

use super::blobs::{self, Blob};
use super::farewell::{self, Parting, Word};
use super::{AdapterSeam, egress_failure, host_failure};
use crate::egress::{Answer, Capture, EgressError, IDLE_TIMEOUT, Outgoing, body_error};
use crate::guest::Guest;

/// Bytes of one request's body.
const BODY_BYTES: usize = 64 * 1024 * 1024;

/// Bytes of all request bodies of one call.
const CALL_BYTES: usize = 256 * 1024 * 1024;

/// The largest read at once.
const READ_BYTES: u32 = 4 * 1024 * 1024;

/// A request under way behind the guest's handle.
struct Exchange(Option<JoinHandle<Result<Answer, EgressError>>>);

impl Drop for Exchange {
    fn drop(&mut self) {
        if let Some(task) = &self.0 {
            task.abort();
        }
    }
}

impl Guest<AdapterSeam> {
    fn outgoing(&mut self, request: http::Request) -> wasmtime::Result<Result<Outgoing, Failure>> {
        let mut body = Vec::new();
        for chunk in request.body {
            let bytes = match chunk {
                http::Chunk::Bytes(bytes) => bytes,
                http::Chunk::Blob(blob) => match read_blob(&self.table.delete(blobs::own(&blob))?) {
                    Ok(bytes) => bytes,
                    Err(failure) => return Ok(Err(failure)),
                },
            };
            if body.len() + bytes.len() > BODY_BYTES {
                return Ok(Err(host_failure(
                    "invalid-request",
                    format!("the request's body is larger than {BODY_BYTES} bytes"),
                )));
            }
            body.extend_from_slice(&bytes);
        }
        self.seam.sent_bytes += body.len();
        if self.seam.sent_bytes > CALL_BYTES {
            let message = format!("one call sends at most {CALL_BYTES} bytes");
            return Ok(Err(host_failure("invalid-request", message)));
        }
        Ok(Ok(Outgoing {
            method: request.method,
            url: request.url,
            headers: request.headers,
            body,
            auth: request.auth,
        }))
    }

    fn hold_answer(
        &mut self,
        answer: Result<Answer, EgressError>,
    ) -> wasmtime::Result<Result<Resource<http::Response>, Failure>> {
        match answer {
            Ok(answer) => Ok(Ok(Resource::new_own(self.table.push(answer)?.rep()))),
            Err(error) => Ok(Err(egress_failure(&error))),
        }
    }
}

fn read_blob(blob: &Blob) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    loop {
        let chunk = blob.read(bytes.len() as u64, READ_BYTES)?;
        if chunk.is_empty() || bytes.len() > BODY_BYTES {
            return Ok(bytes);
        }
        bytes.extend_from_slice(&chunk);
    }
}

impl http::Host for Guest<AdapterSeam> {
    async fn send(
        &mut self,
        request: http::Request,
    ) -> wasmtime::Result<Result<Resource<http::Response>, Failure>> {
        let outgoing = match self.outgoing(request)? {
            Ok(outgoing) => outgoing,
            Err(failure) => return Ok(Err(failure)),
        };
        let answer = self.seam.egress.send(&self.seam.context.scope, outgoing).await;
        self.hold_answer(answer)
    }

    async fn farewell(&mut self, request: Option<http::Request>) -> wasmtime::Result<Result<(), Failure>> {
        self.seam.farewell.leave(None);
        let Some(request) = request else { return Ok(Ok(())) };
        let outgoing = match self.outgoing(request)? {
            Ok(outgoing) => outgoing,
            Err(failure) => return Ok(Err(failure)),
        };
        if outgoing.body.len() > farewell::BYTES {
            let message = format!("a farewell has at most {} bytes", farewell::BYTES);
            return Ok(Err(host_failure("invalid-request", message)));
        }
        let (egress, scope) = (&self.seam.egress, &self.seam.context.scope);
        if scope.capture != Capture::Off {
            return Ok(Ok(()));
        }
        match Parting::new(egress, scope, outgoing) {
            Ok(parting) => self.seam.farewell.leave(Some(Word::Request(Box::new(parting)))),
            Err(error) => return Ok(Err(egress_failure(&error))),
        }
        Ok(Ok(()))
    }
}

impl http::HostExchange for Guest<AdapterSeam> {
    async fn start(
        &mut self,
        request: http::Request,
    ) -> wasmtime::Result<Result<Resource<http::Exchange>, Failure>> {
        let outgoing = match self.outgoing(request)? {
            Ok(outgoing) => outgoing,
            Err(failure) => return Ok(Err(failure)),
        };
        let (egress, scope) = (self.seam.egress.clone(), self.seam.context.scope.clone());
        let task = tokio::spawn(async move { egress.send(&scope, outgoing).await });
        let held = self.table.push(Exchange(Some(task)))?;
        Ok(Ok(Resource::new_own(held.rep())))
    }

    async fn wait(
        &mut self,
        exchange: Resource<http::Exchange>,
        timeout_ms: u32,
    ) -> wasmtime::Result<Result<Option<Resource<http::Response>>, Failure>> {
        let held = self.table.get_mut(&Resource::<Exchange>::new_borrow(exchange.rep()))?;
        let Some(task) = &mut held.0 else {
            return Ok(Err(host_failure("invalid-request", "this exchange has given its answer")));
        };
        let wait = Duration::from_millis(timeout_ms.into());
        let Ok(finished) = tokio::time::timeout(wait, task).await else {
            return Ok(Ok(None));
        };
        held.0 = None;
        let answer = finished.map_err(wasmtime::Error::new)?;
        Ok(self.hold_answer(answer)?.map(Some))
    }

    async fn drop(&mut self, exchange: Resource<http::Exchange>) -> wasmtime::Result<()> {
        self.table.delete(Resource::<Exchange>::new_own(exchange.rep()))?;
        Ok(())
    }
}

impl http::HostResponse for Guest<AdapterSeam> {
    async fn status(&mut self, response: Resource<http::Response>) -> wasmtime::Result<u16> {
        Ok(self.table.get(&answer(&response))?.status)
    }

    async fn headers(
        &mut self,
        response: Resource<http::Response>,
    ) -> wasmtime::Result<Vec<(String, Vec<u8>)>> {
        let headers = &self.table.get(&answer(&response))?.headers;
        Ok(headers
            .iter()
            .map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_vec()))
            .collect())
    }

    async fn read(
        &mut self,
        response: Resource<http::Response>,
        len: u32,
        timeout_ms: u32,
    ) -> wasmtime::Result<Result<Option<Vec<u8>>, Failure>> {
        let body = &mut self.table.get_mut(&answer(&response))?.body;
        let read = body.read(len.min(READ_BYTES) as usize, Duration::from_millis(timeout_ms.into()));
        Ok(read.await.map_err(|error| egress_failure(&body_error(error))))
    }

    async fn into_blob(
        &mut self,
        response: Resource<http::Response>,
        name: Option<String>,
        media_type: Option<String>,
    ) -> wasmtime::Result<Result<Resource<wit_blobs::Blob>, Failure>> {
        let created = Blob::create(&self.seam.context.blobs, name.as_deref(), media_type.as_deref());
        let mut blob = match created {
            Ok(blob) => blob,
            Err(failure) => return Ok(Err(failure)),
        };
        let body = &mut self.table.get_mut(&answer(&response))?.body;
        loop {
            match body.read(READ_BYTES as usize, IDLE_TIMEOUT).await {
                Ok(Some(bytes)) if bytes.is_empty() => break,
                Ok(Some(bytes)) => {
                    let kept = self.seam.keep(bytes.len()).and_then(|()| blob.append(&bytes));
                    if let Err(failure) = kept {
                        return Ok(Err(failure));
                    }
                }
                Ok(None) => return Ok(Err(host_failure("timeout", "the upstream went silent"))),
                Err(error) => return Ok(Err(egress_failure(&body_error(error)))),
            }
        }
        Ok(Ok(self.hold_blob(blob)?))
    }

    async fn drop(&mut self, response: Resource<http::Response>) -> wasmtime::Result<()> {
        self.table.delete(Resource::<Answer>::new_own(response.rep()))?;
        Ok(())
    }
}

fn answer(response: &Resource<http::Response>) -> Resource<Answer> {
    Resource::new_borrow(response.rep())
}
