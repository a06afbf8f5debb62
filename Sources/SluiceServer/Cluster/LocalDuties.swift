internal import SluiceModel
internal import SluiceStorage
internal import Synchronization

/// The duties of a server alone: it has them all.
final class LocalDuties: DutyService {
    private let term: Mutex<UInt64>

    /// - Parameter now: the clock. Terms ascend from it, so that they ascend over the starts of a server.
    init(now: Timestamp) { term = Mutex(UInt64(max(0, now.microseconds))) }

    func take(_ duty: Duty) -> HeldDuty? {
        let term = term.withLock { term in
            term += 1
            return term
        }
        return HeldDuty(duty, term: term) { true }
    }

    func renew(_ held: HeldDuty) -> Bool { true }

    func giveUp(_ held: HeldDuty) {}
}
