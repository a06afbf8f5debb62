package import SluiceStorage

/// A read that is done, or that goes on beside the queue.
package enum PendingRead<Result: Sendable>: Sendable {
    case done(Result)
    case beside(HandedOver, @Sendable (ServerSnapshot) throws -> Result)
}

/// A snapshot on its way from the queue to where it is read.
package struct HandedOver: @unchecked Sendable {
    // Sound because one thread at a time has it: the queue makes it, and whoever reads it closes it.
    package let snapshot: ServerSnapshot

    init(_ snapshot: ServerSnapshot) { self.snapshot = snapshot }
}
