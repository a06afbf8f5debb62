internal import SluiceWire

/// Acknowledgements that need no transaction of their own.
///
/// A commit message often says nothing but that uploads were accepted. If the uploads concern no subscription, it is
/// noted in memory and stored by the next transaction, whatever that is for: a write, a frame with content, the end of
/// the session, or a timer if nothing else comes. Until then the outbox keeps the changesets, so a crash loses nothing:
/// the next session begins with the server saying what it has.
final class PostponedAcknowledgements {
    /// How long acknowledgements wait for another transaction, and written transactions for an acknowledgement.
    private static let delay = Duration.milliseconds(50)
    /// The maximum number of acknowledged changesets that wait in the outbox.
    private static let countMax: UInt64 = 256

    private let session: SyncSession
    private let active: ActiveSubscriptions
    private let acknowledgements: Acknowledgements
    private let uploads: Uploads
    /// The version of messages that no transaction has stored yet; nil if there are none.
    private var version: UInt64?
    /// Whether ``ClientEvent/storePostponed`` will come.
    private var isTimerSet = false

    init(
        _ session: SyncSession, _ active: ActiveSubscriptions, _ acknowledgements: Acknowledgements,
        _ uploads: Uploads
    ) {
        self.session = session
        self.active = active
        self.acknowledgements = acknowledgements
        self.uploads = uploads
    }

    var isEmpty: Bool { version == nil }

    /// Notes content that changes nothing that anybody can see.
    ///
    /// - Parameter retired: the highest sequence that has left the outbox.
    /// - Returns: the highest sequence that it acknowledges; nil, and nothing is noted, if it has to be applied now.
    func note(_ content: [ServerContent], retired: UInt64) -> UInt64? {
        guard !active.awaitsCatchUp, acknowledgements.rejections.isEmpty else { return nil }
        var version = self.version ?? 0
        var acknowledged = acknowledgements.sequence
        for part in content {
            guard case .commit(let commit) = part, commit.blocks.isEmpty, commit.figures.isEmpty,
                !commit.header.isContinued
            else {
                return nil
            }
            version = max(version, commit.header.version)
            acknowledged = max(acknowledged, commit.header.acknowledged ?? 0)
        }
        guard acknowledged - min(retired, acknowledged) <= Self.countMax,
            !uploads.change(through: acknowledged, where: active.read)
        else { return nil }
        self.version = version
        setTimer()
        return acknowledged
    }

    /// Has ``ClientEvent/storePostponed`` come after a while.
    func setTimer() {
        guard !isTimerSet else { return }
        isTimerSet = true
        session.storePostponed(after: Self.delay)
    }

    /// The version to store in the transaction that has begun; nil if nothing is postponed. It stays until
    /// ``forget()``, since the transaction may fail.
    var versionToStore: UInt64? { version }

    /// Notes that what was postponed is stored, or that the session has ended.
    func forget() { version = nil }

    func timerFired() { isTimerSet = false }
}
