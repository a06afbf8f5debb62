/// Counts how subscriptions were started.
package struct StartCounts: Sendable, Hashable {
    package enum Path: Int, Sendable, CaseIterable {
        /// What the client had was still right.
        case current
        /// The log had what the client missed.
        case replayed
        /// The log did not reach back, but the client's digest equalled that of the view.
        case equal
        /// The client listed its members.
        case compared
        /// Everything was sent.
        case anew
    }

    private var counts = [UInt64](repeating: 0, count: Path.allCases.count)

    package init() {}

    package static func + (left: StartCounts, right: StartCounts) -> StartCounts {
        var sum = left
        for path in Path.allCases { sum[path] += right[path] }
        return sum
    }

    package static func += (left: inout StartCounts, right: StartCounts) { left = left + right }

    package internal(set) subscript(path: Path) -> UInt64 {
        get { counts[path.rawValue] }
        set { counts[path.rawValue] = newValue }
    }
}
