internal import Sluice
internal import Synchronization

/// Collects the writes that the server rejected.
final class RejectedWrites: Sendable {
    private static let reportedMax = 20

    private let state = Mutex<(count: Int, reports: [String])>((0, []))
    private let token = Mutex<HandlerToken?>(nil)

    /// Begins to observe the rejections of a store.
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

    /// - Throws: ``CommandError`` when the server rejected any write, after reporting the rejections.
    func check() throws(CommandError) {
        let (count, reports) = state.withLock { $0 }
        guard count > 0 else { return }
        for report in reports { Diagnostics.report("rejected: \(report)") }
        throw .failure("the server rejected \(GroupedNumber.text(count, "write"))")
    }
}
