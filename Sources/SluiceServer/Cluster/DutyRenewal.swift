internal import Dispatch
internal import SluiceStorage
internal import Synchronization

/// Renews a duty every three seconds while something long is done, on a queue of its own.
final class DutyRenewal: Sendable {
    /// A duty lasts for ten seconds: two renewals may fail.
    static let interval = Duration.seconds(3)

    private let held: HeldDuty
    private let duties: any DutyService
    private let schedule: Schedule
    private let queue = DispatchQueue(label: "sluice.duty", qos: .utility)
    private let isEnded = Atomic(false)

    init(_ held: HeldDuty, _ duties: any DutyService, _ schedule: @escaping Schedule) {
        self.held = held
        self.duties = duties
        self.schedule = schedule
    }

    func begin() {
        schedule(Self.interval) { [weak self] in
            self?.queue.async { [weak self] in
                guard let self, !isEnded.load(ordering: .relaxed) else { return }
                // Where that fails the duty ends by itself.
                _ = try? duties.renew(held)
                begin()
            }
        }
    }

    /// Ends the renewal, and gives the duty up. No renewal comes after it.
    func end() {
        isEnded.store(true, ordering: .relaxed)
        queue.sync { duties.giveUp(held) }
    }
}
