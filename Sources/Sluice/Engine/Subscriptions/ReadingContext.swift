internal import SluiceModel
internal import SluiceStorage
internal import SluiceWire

/// Keeps in mind in which context the user reads, as the server calls it.
///
/// A membership that was right in another context must not be resumed by its version: the log of the server does not
/// tell that the user may read something else. The client then lists its members, or begins anew where the properties
/// are others.
struct ReadingContext {
    private static let name = "context"

    private let storage: any ClientStorage

    init(_ storage: any ClientStorage) { self.storage = storage }

    /// Whether the server has named a context. What cannot be read counts as one.
    var isKnown: Bool {
        do { return try storage.metadata(Self.name) != nil } catch { return true }
    }

    /// Takes in the context of a session that opens. Within a transaction.
    ///
    /// - Parameter context: nil if the server has no rules.
    func begin(_ context: ServerMessage.Context?, _ active: ActiveSubscriptions) throws {
        guard let change = try change(to: context) else { return }
        for subscription in active.values {
            subscription.record.hasHoles = true
            if change.isOfFields {
                subscription.record.state = .pending
                subscription.record.version = 0
                try storage.updateSubscription(subscription.record)
            }
        }
        try expire(except: [], change)
    }

    /// Takes in a context that the server has brought the complete subscriptions to. Within a transaction.
    func turn(_ context: ServerMessage.Context, _ active: ActiveSubscriptions) throws {
        guard let change = try change(to: context) else { return }
        for subscription in active.values where !subscription.isComplete {
            subscription.record.hasHoles = true
            if change.isOfFields { subscription.record.version = 0 }
            try storage.updateSubscription(subscription.record)
        }
        try expire(except: Set(active.values.filter(\.isComplete).map(\.record.id)), change)
    }

    private struct Turn {
        /// Whether the user may read other properties.
        let isOfFields: Bool
    }

    private func change(to context: ServerMessage.Context?) throws -> Turn? {
        let bytes = context.map { $0.context.wireBytes() + $0.fields.wireBytes() }
        let known = try storage.metadata(Self.name)
        guard bytes != known else { return nil }
        try storage.setMetadata(Self.name, bytes)
        return Turn(isOfFields: bytes.map { Array($0.dropFirst(16)) } != known.map { Array($0.dropFirst(16)) })
    }

    private func expire(except current: Set<UInt64>, _ change: Turn) throws {
        try storage.noteHoles(except: current)
        guard change.isOfFields else { return }
        for var record in storage.dormantSubscriptions {
            record.version = 0
            try storage.updateSubscription(record)
        }
    }
}
