internal import Sluice
internal import Synchronization

/// Gathers the writes that the server refused.
final class RejectedWrites: Sendable {
    private static let reportedMax = 20

    private let state = Mutex<(count: Int, reports: [String])>((0, []))
    private let token = Mutex<RejectionToken?>(nil)

    /// Begins to listen to a store.
    func observe(_ store: Store) {
        let token = store.onWriteRejected { [weak self] rejection in
            let object = rejection.object.map { "\($0.className) \($0.key): " } ?? ""
            self?.state.withLock { state in
                state.count += 1
                if state.reports.count < Self.reportedMax {
                    state.reports.append("\(object)\(rejection.reason.message)")
                }
            }
        }
        self.token.withLock { $0 = token }
    }

    /// - Throws: ``CommandError`` when anything was refused, after having reported what.
    func check() throws(CommandError) {
        let (count, reports) = state.withLock { $0 }
        guard count > 0 else { return }
        for report in reports { Diagnostics.report("refused: \(report)") }
        throw .failure("the server refused \(GroupedNumber.text(count)) \(count == 1 ? "write" : "writes")")
    }
}
