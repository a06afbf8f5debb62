internal import CSQLite

/// Makes a connection's writes fail on purpose, as a full disk or a broken one would.
///
/// Attempts are the writing statements and commits from the plan's installation on. A failing attempt rolls the
/// transaction back, as SQLite itself does when it cannot write.
package final class FaultPlan {
    package enum Fault: Sendable, CaseIterable {
        case full, io

        fileprivate var resultCode: Int32 {
            switch self {
            case .full: SQLITE_FULL
            case .io: SQLITE_IOERR | 3 << 8  // SQLITE_IOERR_WRITE, a macro that does not import
            }
        }
    }

    private let first: Int
    private let fault: Fault
    /// How many attempts there were.
    package private(set) var attempts = 0

    /// - Parameter first: the attempt that fails, counted from 1.
    package init(failing first: Int, with fault: Fault) {
        self.first = first
        self.fault = fault
    }

    /// Whether the fault was reported.
    package var hasFired: Bool { attempts >= first }

    /// The result code that the next attempt must end with; nil to let it through.
    func next() -> Int32? {
        attempts += 1
        return attempts == first ? fault.resultCode : nil
    }
}
