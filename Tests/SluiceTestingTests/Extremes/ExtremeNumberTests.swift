import TestSupport
import Testing

/// No number that a peer says or that stands in a file ends the process. Every number of every message, and every
/// integer of the tables of small files, is replaced by the extremes; what can be read is used, and there is an answer
/// or an error. A trap ends the run, and prints the case that was tried.
@Suite(.serialized, .ownThread) struct ExtremeNumberTests {}
