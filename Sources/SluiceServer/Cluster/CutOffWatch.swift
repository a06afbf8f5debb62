internal import Dispatch
internal import SluiceModel
internal import SluiceStorage
internal import Synchronization

/// Notices that a node has been without its journals for as long as makes it unready, and that they answer again.
///
///     state      silent for the bound     answers
///     reached    cut off                  =
///     cut off    =                        reached
///
/// It looks by the process's own time and not by the configuration's schedule: how long journals are silent is measured
/// in that time, also where tests move a clock by hand.
final class CutOffWatch: Sendable {
    /// How often the journals are looked at.
    private static let interval = DispatchTimeInterval.seconds(1)
    private static let bound = Duration.milliseconds(Int64(ServerHealth.journalTimeMax))

    private let journals: any JournalService
    private let log: LogSink?
    private let tell: @Sendable (_ isCutOff: Bool) -> Void
    private let queue = DispatchQueue(label: "sluice.cut-off")
    private let isCutOff = Atomic(false)
    private let isStopped = Atomic(false)

    /// - Parameter tell: called with each change, one after the other.
    init(_ journals: any JournalService, log: LogSink?, tell: @escaping @Sendable (_ isCutOff: Bool) -> Void) {
        self.journals = journals
        self.log = log
        self.tell = tell
    }

    func begin() {
        queue.asyncAfter(deadline: .now() + Self.interval) { [weak self] in
            guard let self, !isStopped.load(ordering: .relaxed) else { return }
            look()
            begin()
        }
    }

    func stop() { isStopped.store(true, ordering: .relaxed) }

    private func look() {
        let silence = journals.silence
        let isNow = isCutOff.load(ordering: .relaxed) ? silence > .zero : silence >= Self.bound
        guard isCutOff.exchange(isNow, ordering: .relaxed) != isNow else { return }
        if isNow {
            log?(
                .warning, "stores that know other servers are sent there, since the journals do not answer",
                [("seconds", "\(Int(silence / .seconds(1)))")])
        } else {
            log?(.info, "all stores are served again, since the journals answer", [])
        }
        tell(isNow)
    }
}
