internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage

/// What an open transaction has written so far, and nobody else knows of.
final class WrittenObjects {
    /// The operations in order; changes of one object are combined.
    private(set) var operations: [ObjectOperation] = []
    /// Every object that was looked at to be changed, with its state before the transaction.
    private(set) var firstImages: [(object: ObjectRef, old: Row?)] = []
    /// Finds an object in `firstImages`.
    private var positions = ObjectPositions()
    /// The last operation on each object of `firstImages`; nil if there is none.
    private var lastOperations: [Int?] = []

    /// Whether there is no operation. O(1).
    var isEmpty: Bool { operations.isEmpty }

    /// Whether there is an operation on the object.
    func hasWritten(_ object: ObjectRef) -> Bool { positions[object].flatMap { lastOperations[$0] } != nil }

    /// The objects on which there is an operation, each once.
    var objects: [ObjectRef] {
        firstImages.indices.filter { lastOperations[$0] != nil }.map { firstImages[$0].object }
    }

    /// An object that was written, as it was before.
    func formerRow(of object: ObjectRef) -> Row? { positions[object].flatMap { firstImages[$0].old } }

    /// Whether a property was set as a whole.
    func isAssigned(_ property: Int, of object: ObjectRef) -> Bool {
        guard let position = positions[object].flatMap({ lastOperations[$0] }) else { return false }
        return operations[position].fields.contains { field in
            // What a new object has by default nobody has set.
            if case .setDefault = field.change { return false }
            return field.property == property && field.change.isAssignment
        }
    }

    /// Keeps what an object was before its first change.
    ///
    /// - Returns: its position in ``firstImages``.
    @discardableResult
    func remember(_ object: ObjectRef, as old: Row?) -> Int {
        let (position, isNew) = positions.position(of: object)
        if isNew {
            firstImages.append((object, old))
            lastOperations.append(nil)
        }
        return position
    }

    /// - Parameter position: of the operation's object in ``firstImages``.
    func append(_ operation: ObjectOperation, at position: Int) {
        lastOperations[position] = operations.count
        operations.append(operation)
    }

    /// Adds changes of an object that was remembered to its last operation, or as an operation of their own.
    func record(_ fields: [FieldOperation], of object: ObjectRef) {
        guard let place = positions[object] else { return }
        if let position = lastOperations[place] {
            switch operations[position].action {
            case .create(let earlier):
                operations[position].action = .create(earlier.folding(fields))
                return
            case .update(let earlier):
                operations[position].action = .update(earlier.folding(fields))
                return
            case .delete: break
            }
        }
        append(ObjectOperation(object, .update(fields)), at: place)
    }
}

/// The state of a store within an open transaction: what the transaction has written counts as pending, as it will be
/// once it is stored.
final class OpenTransactionState: ObjectStanding {
    private let base: any ClientReading
    private let written: WrittenObjects

    init(_ base: any ClientReading, _ written: WrittenObjects) {
        self.base = base
        self.written = written
    }

    func hasPending(_ object: ObjectRef) throws -> Bool {
        try written.hasWritten(object) || base.hasPending(object)
    }

    var hasPendingObjects: Bool { base.hasPendingObjects || !written.isEmpty }

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
