internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage

/// What an open transaction has written so far, and nobody else knows of.
protocol WrittenObjects: AnyObject {
    /// Whether the transaction has an operation on the object.
    func hasWritten(_ object: ObjectRef) -> Bool

    /// Whether the transaction has an operation on any object. O(1).
    var hasWrittenObjects: Bool { get }

    /// The objects on which the transaction has an operation, each once.
    var writtenObjects: [ObjectRef] { get }

    /// An object that the transaction has written, as it was before.
    func formerRow(of object: ObjectRef) -> Row?
}

/// The state of a store within an open transaction: what the transaction has written counts as pending, as it will be
/// once it is stored.
final class OpenTransactionState: ObjectStanding {
    private let base: any ClientReading
    private let written: any WrittenObjects

    init(_ base: any ClientReading, _ written: any WrittenObjects) {
        self.base = base
        self.written = written
    }

    func hasPending(_ object: ObjectRef) throws -> Bool {
        try written.hasWritten(object) || base.hasPending(object)
    }

    var hasPendingObjects: Bool { base.hasPendingObjects || written.hasWrittenObjects }

    func baseImage(of object: ObjectRef) throws -> BaseImage? {
        if let image = try base.baseImage(of: object) { return image }
        guard written.hasWritten(object), try !base.hasPending(object) else { return nil }
        return written.formerRow(of: object).map { .row($0) } ?? BaseImage.none
    }

    func isMember(_ object: ObjectRef, of subscription: UInt64, role: MemberRole?) throws -> Bool {
        try base.isMember(object, of: subscription, role: role)
    }

    var isTimeOwn: Bool { base.isTimeOwn }

    var now: Timestamp { base.now }

    func row(_ object: ObjectRef) throws -> Row? { try base.row(object) }

    func isPresent(_ object: ObjectRef) throws -> Bool { try base.isPresent(object) }

    func backlinks(
        to object: ObjectRef, fromClass classIndex: Int, property: Int, _ body: (ObjectKey) throws -> Bool
    ) throws {
        try base.backlinks(to: object, fromClass: classIndex, property: property, body)
    }

    func spend(_ stepCount: Int) throws { try base.spend(stepCount) }
}
