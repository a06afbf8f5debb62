internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage

/// What an open transaction has written so far, and nobody else knows of.
final class WrittenObjects {
    /// What was created, by column, as long as that is all that was done: whole objects of one class. They become
    /// operations when something else is recorded, or asked for.
    private(set) var creations: CreationColumns?
    private var recorded: [ObjectOperation] = []
    private var images: [(object: ObjectRef, old: Row?)] = []
    /// Finds an object in `images`.
    private var positions = ObjectPositions()
    /// The last operation on each object of `images`; nil if there is none.
    private var lastOperations: [Int?] = []

    /// The operations in order; changes of one object are combined.
    var operations: [ObjectOperation] {
        expand()
        return recorded
    }

    /// Every object that was looked at to be changed, with its state before the transaction.
    var firstImages: [(object: ObjectRef, old: Row?)] {
        expand()
        return images
    }

    /// Whether there is no operation. O(1).
    var isEmpty: Bool { creations == nil && recorded.isEmpty }

    /// Whether there is an operation on the object.
    func hasWritten(_ object: ObjectRef) -> Bool { lastOperation(on: object) != nil }

    private func lastOperation(on object: ObjectRef) -> Int? {
        expand()
        return positions[object].flatMap { lastOperations[$0] }
    }

    /// The objects on which there is an operation, each once.
    var objects: [ObjectRef] {
        let images = firstImages
        return images.indices.filter { lastOperations[$0] != nil }.map { images[$0].object }
    }

    /// An object that was written, as it was before.
    func formerRow(of object: ObjectRef) -> Row? {
        // What was created was not here.
        positions[object].flatMap { images[$0].old }
    }

    /// Whether a property was set as a whole.
    func isAssigned(_ property: Int, of object: ObjectRef) -> Bool {
        guard let position = lastOperation(on: object) else { return false }
        return recorded[position].fields.contains { field in
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
        expand()
        let (position, isNew) = positions.position(of: object)
        if isNew {
            images.append((object, old))
            lastOperations.append(nil)
        }
        return position
    }

    /// - Parameter position: of the operation's object in ``firstImages``.
    func append(_ operation: ObjectOperation, at position: Int) {
        lastOperations[position] = recorded.count
        recorded.append(operation)
    }

    /// Adds the creation of an object to ``creations``.
    ///
    /// - Parameters:
    ///   - defaults: those of the class.
    ///   - primaryKey: the position of the property that the key says.
    /// - Returns: false, without an effect, where it has to be an operation.
    func create(_ row: Row, ofClass classIndex: Int, defaults: [Value], primaryKey: Int?) -> Bool {
        if creations == nil, images.isEmpty {
            let properties = row.values.indices.filter { $0 != primaryKey }
            creations = CreationColumns(classIndex: classIndex, properties: properties)
        }
        guard creations?.classIndex == classIndex else { return false }
        creations?.append(row, defaults: defaults)
        return true
    }

    private func expand() {
        guard let made = creations else { return }
        creations = nil
        for operation in made.operations { append(operation, at: remember(operation.object, as: nil)) }
    }

    /// Adds changes of an object that was remembered to its last operation, or as an operation of their own.
    func record(_ fields: [FieldOperation], of object: ObjectRef, creating creates: Bool = false) {
        guard let place = positions[object] else { return }
        if let position = lastOperations[place] {
            switch recorded[position].action {
            case .create(let earlier):
                recorded[position].action = .create(earlier.folding(fields))
                return
            case .update(let earlier):
                let folded = earlier.folding(fields)
                recorded[position].action = creates ? .create(folded) : .update(folded)
                return
            case .delete: break
            }
        }
        append(ObjectOperation(object, creates ? .create(fields) : .update(fields)), at: place)
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
