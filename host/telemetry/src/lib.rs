//! What can be seen of a daemon from outside: metrics, spans and logs.
