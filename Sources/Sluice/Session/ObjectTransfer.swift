public import SluiceModel

/// Objects that syncing has carried in one step: those of uploads that the server has answered, or those that a change
/// of the server's has brought, whatever queries are observed.
public struct ObjectTransfer: Sendable, Hashable {
    /// One object that has travelled.
    public struct Object: Sendable, Hashable {
        /// The object's class and key.
        public let identity: Identity
        /// Why the object is here no more; nil if it was created or changed. An upload only deletes; a download may
        /// also take an object away because the user may not read it any more.
        public let removal: RemovalReason?
        /// Why the server has rejected the write of it; nil for what was accepted, and for what it sends.
        public let error: SyncError?

        package init(identity: Identity, removal: RemovalReason? = nil, error: SyncError? = nil) {
            self.identity = identity
            self.removal = removal
            self.error = error
        }
    }

    /// Which way the objects have travelled.
    public let direction: SyncProgress.Direction
    /// The objects, each once for a download, and once for each transaction that wrote it for an upload.
    public let objects: [Object]
    /// How many objects of later steps were left out, because the listener was slow.
    public let omittedCount: Int

    package init(direction: SyncProgress.Direction, objects: [Object], omittedCount: Int = 0) {
        self.direction = direction
        self.objects = objects
        self.omittedCount = omittedCount
    }

    /// The same objects, with those of another step left out.
    package func omitting(_ next: ObjectTransfer) -> ObjectTransfer {
        ObjectTransfer(
            direction: direction, objects: objects,
            omittedCount: omittedCount + next.objects.count + next.omittedCount)
    }
}

extension ObjectTransfer: CustomStringConvertible {
    /// The direction and how many objects have travelled, of how many classes.
    public var description: String {
        let verb = direction == .upload ? "pushed" : "pulled"
        let rejected = objects.count { $0.error != nil }
        return "\(verb) \(objects.count) objects" + (rejected > 0 ? ", \(rejected) rejected" : "")
            + (omittedCount > 0 ? ", and \(omittedCount) left out" : "")
    }
}
