/// A change of one record of a job, which counts only if the database is as its author knows it.
///
/// A transaction that carries some counts as a whole or not at all. So a job stores what it knows together with what
/// follows from it, and of two that do the same, one is refused.
package struct JobWrite: Hashable, Sendable {
    /// What the record must be.
    package enum Expectation: Hashable, Sendable {
        case anything
        /// There must be none.
        case absent
        /// Its value must be this. When it is due does not matter.
        case value([UInt8])
        /// Its value must be this, and it must be due by the server's clock, or never.
        case overdue([UInt8])
    }

    /// What must hold of an object.
    package enum Condition: Hashable, Sendable {
        /// It must be as it was at a version.
        case unchanged(Identity, version: UInt64)
        /// It must be no result of a query, given in the query language, once the transaction is applied.
        case unmatched(Identity, query: String)
    }

    /// When somebody must look at the record.
    package enum Due: Hashable, Sendable {
        case never
        /// So many microseconds after the server makes the change, by its own clock.
        case after(UInt64)

        package static func after(_ duration: Duration) -> Due {
            let (seconds, attoseconds) = duration.components
            guard seconds >= 0, attoseconds >= 0 else { return .after(0) }
            let (microseconds, isOver) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000)
            return .after(isOver ? .max : microseconds &+ UInt64(attoseconds / 1_000_000_000_000))
        }
    }

    /// What the record becomes.
    package enum Change: Hashable, Sendable {
        case set(Due, value: [UInt8])
        case remove
    }

    package let key: JobRecord.Key
    package let change: Change
    package let expectation: Expectation
    package let condition: Condition?

    /// Whether a query decides whether it counts.
    package var readsQuery: Bool { if case .unmatched? = condition { true } else { false } }

    /// The most changes that one transaction or one request carries.
    package static let countMax = 1_000

    package init(
        _ key: JobRecord.Key, _ change: Change, if expectation: Expectation = .anything, _ condition: Condition? = nil
    ) {
        self.key = key
        self.change = change
        self.expectation = expectation
        self.condition = condition
    }

    /// The record afterwards; nil for none.
    ///
    /// - Parameter now: the server's clock.
    package func record(at now: Timestamp) -> JobRecord? {
        switch change {
        case .remove: nil
        case .set(.never, let value): JobRecord(key, value: value)
        case .set(.after(let microseconds), let value):
            JobRecord(key, due: now.after(microseconds), value: value)
        }
    }
}

extension Timestamp {
    fileprivate func after(_ microseconds: UInt64) -> Timestamp {
        let (sum, isOver) = self.microseconds.addingReportingOverflow(Int64(clamping: microseconds))
        return Timestamp(microseconds: isOver ? .max : sum)
    }
}
