import Sluice
import SluiceModel
import SluiceQuery
import SluiceStorage
import SluiceViews

/// Compares a complete subscription with the oracle: the query on the server's state at the client's version, overlaid
/// with the client's unacknowledged writes.
struct SubscriptionCheck {
    let client: SimulatedClient
    let query: Query
    let record: SubscriptionRecord
    let state: ServerState
    let storage: SQLiteClientStorage
    private let pending: Set<ObjectRef>
    /// Whether nothing is on its way.
    private let isAtRest: Bool

    init(
        _ client: SimulatedClient, _ query: Query, _ record: SubscriptionRecord, _ state: ServerState,
        isAtRest: Bool = false
    ) throws {
        self.isAtRest = isAtRest
        self.client = client
        self.query = query
        self.record = record
        self.state = state
        storage = client.storage
        pending = Set(try client.storage.pendingObjects)
    }

    func run() throws {
        let view = try state.view(record.canonicalText, of: storage.schema)
        try checkMembers(view.snapshot)
        for (object, included) in view.snapshot.included { try checkContents(object, included) }
        // While nothing is heard of the server, results go on by the client's clock.
        if query.readsTime, storage.isTimeOwn { return }
        try checkResults(view.snapshot)
        try checkTotal(view.snapshot)
        try checkFigures(view.snapshot)
    }

    /// What the server has said is right at the client's version, and what is shown has the pending writes in it.
    private func checkTotal(_ snapshot: ViewSnapshot) throws {
        guard query.aggregates == nil else { return }
        let total = query.countsMatches ? snapshot.total : nil
        guard record.figures == total.map({ [.int(Int64($0))] }) else {
            throw fail("was told \(record.figures ?? []) of its total \(total.map(String.init) ?? "nothing")")
        }
        guard let total else { return }
        let former = try formerObjects()
        let evaluator = Evaluator(query, schema: storage.schema)
        // The objects outside of the query's section count, too.
        let counting = Evaluator(query.condition, schema: storage.schema)
        func isMatch(_ object: ObjectRef, _ source: any ObjectSource) throws -> Int? {
            guard let row = try source.row(object) else { return 0 }
            guard try evaluator.isJudgeable(row, in: source) else { return nil }
            return try counting.matches(row, in: source) ? 1 : 0
        }
        let effect = try decidedHere().reduce(0) { sum, object in
            guard object.classIndex == query.classIndex, let now = try isMatch(object, storage),
                let was = try isMatch(object, former)
            else { return sum }
            return sum + now - was
        }
        let shown = try storage.total(of: query)
        guard let shown, shown.count == total + effect else {
            throw fail("shows the total \(String(describing: shown)) and should show \(total + effect)")
        }
        // What it claims to know is what the server would say with the pending writes of this client.
        if pending.isEmpty, !record.isDormant, !shown.isExact {
            throw fail("shows a total that is not exact, and has nothing pending")
        }
    }

    /// The objects without the pending writes: of each that has any, the server's last image.
    func formerObjects() throws -> OverlaidObjects {
        var images: [ObjectRef: Row?] = [:]
        for object in pending {
            let image: Row? = if case .row(let image)? = try storage.baseImage(of: object) { image } else { nil }
            images[object] = .some(image)
        }
        return OverlaidObjects(images, over: storage)
    }

    func fail(_ message: String) -> SimulationFailure {
        SimulationFailure("client \(client.index) at version \(state.version): '\(query)' \(message)")
    }

    /// Translates a server's object to the position of its class in the client's schema.
    private func local(_ object: ObjectRef) throws -> ObjectRef {
        let name = state.schema[object.classIndex].name
        guard let classIndex = storage.schema.index(of: name) else {
            throw fail("is complete without the class \(name)")
        }
        return ObjectRef(classIndex, object.key)
    }

    /// Whether the client must have heard of a property.
    private func isKnown(_ property: Property, of declared: ClassSchema) -> Bool {
        if isAtRest { return true }
        guard let classIndex = state.schemaAtFirst.index(of: declared.name) else { return false }
        return state.schemaAtFirst[classIndex].index(of: property) != nil
    }

    private func checkMembers(_ snapshot: ViewSnapshot) throws {
        let expected = [
            (MemberRole.root, Set(try snapshot.roots.map(local))), (.linked, Set(try snapshot.linked.map(local))),
        ]
        for (role, expected) in expected {
            var members: Set<ObjectRef> = []
            try storage.forEachMember(of: record.id, role: role) { object in
                members.insert(object)
                return true
            }
            guard members == expected else {
                throw fail(
                    "as \(role) lacks \(expected.subtracting(members).map(\.key)), "
                        + "has \(members.subtracting(expected).map(\.key)) beyond what it should")
            }
        }
    }

    private func checkContents(_ object: ObjectRef, _ included: PropertySet) throws {
        guard let row = state.row(object) else { return }
        let reference = try local(object)
        let serverClass = state.schema[object.classIndex]
        let declared = storage.schema[reference.classIndex]
        var compared = PropertySet()
        var whole = Row(key: reference.key, values: declared.defaultValues(for: reference.key))
        // The server may have added them after it sent the object.
        var mayBeAbsent: Set<Int> = []
        for property in included {
            let serverProperty = serverClass.properties[property]
            let isKnown = isKnown(serverProperty, of: serverClass)
            guard let position = declared.index(of: serverProperty) else {
                guard isKnown else { continue }
                throw fail("lacks the property \(serverProperty.name)")
            }
            if !isKnown { mayBeAbsent.insert(position) }
            // The server may have a wider type that this client has yet to hear of.
            let type = declared.properties[position].type
            let value = row.values[property]
            whole.values[position] = type.fitting(value) ?? type.narrowing(value) ?? value
            whole.setIdentity(row.identity(of: property), of: position)
            compared.insert(position)
        }
        var expected: Row? = whole
        for operation in try storage.pendingOperations(of: reference) {
            expected = apply(operation.operation, to: expected, &compared, declared)
        }
        guard let expected, let actual = try storage.row(reference) else {
            let isHere = try storage.isPresent(reference)
            guard isHere == (expected != nil) else {
                throw fail("\(declared.name) \(object.key) is \(isHere ? "here, though deleted here" : "not here")")
            }
            return
        }
        for property in compared {
            let value = expected.values[property]
            let name = declared.properties[property].name
            guard !actual.absent.contains(property) else {
                if mayBeAbsent.contains(property) { continue }
                throw fail("\(declared.name) \(object.key).\(name) is absent and should be \(value)")
            }
            let elements = [actual, expected].map { $0.list(of: property)?.elements.map(\.id) }
            guard elements[0] == elements[1] else {
                let (shown, right) = (elements[0] ?? [], elements[1] ?? [])
                throw fail(
                    "\(declared.name) \(object.key).\(name) has the elements \(shown) of \(actual.values[property]), "
                        + "and should have \(right) of \(value)")
            }
            guard actual.values[property] == value else {
                throw fail(
                    "\(declared.name) \(object.key).\(name) is \(actual.values[property]) and should be \(value)"
                        + (pending.contains(reference) ? ", pending writes included" : ""))
            }
        }
    }

    /// Applies an unacknowledged operation to the server's object.
    ///
    /// - Parameter compared: the properties of which it is known what they should be.
    private func apply(
        _ operation: ObjectOperation, to row: Row?, _ compared: inout PropertySet, _ declared: ClassSchema
    ) -> Row? {
        let isThere = row != nil
        var row = row
        switch operation.action {
        case .delete: return nil
        case .update where row == nil: return nil
        case .create where row == nil:
            let key = operation.object.key
            row = Row(key: key, values: declared.defaultValues(for: key))
            compared = PropertySet(all: declared.properties.count)
        case .create, .update: break
        }
        for field in operation.fields {
            // What is there may be more than a default.
            if isThere, case .setDefault = field.change { continue }
            // It may have been made when the type was narrower.
            guard let change = declared.properties[field.property].fitting(field.change) else { continue }
            row?.apply(FieldOperation(field.property, change))
            if case .set = change { compared.insert(field.property) }
        }
        return row
    }

    private func checkResults(_ snapshot: ViewSnapshot) throws {
        let evaluator = Evaluator(query, schema: storage.schema)
        let named = try snapshot.roots.map(local)
        let decided = try decidedHere()
        var expected: [(position: SortPosition, object: ObjectRef)] = []
        func add(_ object: ObjectRef, isNamed: Bool) throws {
            guard let row = try storage.row(object) else { return }
            if decided.contains(object), query.object == nil {
                guard try isResult(row, object, isNamed: isNamed, evaluator) else { return }
            }
            let values = query.object == nil ? try evaluator.sortValues(of: row, in: storage) : []
            let id = Identity(className: storage.schema[object.classIndex].name, key: object.key).objectID
            expected.append((SortPosition(values: values, id: id), object))
        }
        for object in named { try add(object, isNamed: true) }
        for object in decided where !named.contains(object) {
            if let id = query.object {
                let name = storage.schema[object.classIndex].name
                guard Identity(className: name, key: object.key).objectID == id else { continue }
            } else if object.classIndex != query.classIndex {
                continue
            }
            try add(object, isNamed: false)
        }
        let objects = query.results(among: expected, values: \.position.values, id: \.position.id).map(\.object)
        let actual = try storage.results(of: query).visible.map(\.object)
        guard actual == Array(objects) else {
            throw fail("shows \(actual.map(\.key)) and should show \(objects.map(\.key))")
        }
        if pending.isEmpty, isOrderKnown, actual != named {
            throw fail("shows \(actual.map(\.key)), and the server \(named.map(\.key))")
        }
    }

    /// Whether an object is a result about which pending writes may decide: they do unless the condition, read without
    /// them, says the same, and something else than the server.
    private func isResult(
        _ row: Row, _ object: ObjectRef, isNamed: Bool, _ evaluator: Evaluator
    ) throws -> Bool {
        guard try evaluator.isJudgeable(row, in: storage) else { return isNamed }
        let matches = try evaluator.matches(row, in: storage)
        if pending.contains(object) || query.dependencies.readsBacklinks { return matches }
        var images: [ObjectRef: Row?] = [:]
        for object in pending {
            let image: Row? = if case .row(let image)? = try storage.baseImage(of: object) { image } else { nil }
            images[object] = .some(image)
        }
        let former = try evaluator.matches(row, in: OverlaidObjects(images, over: storage))
        return matches == former ? isNamed : matches
    }

    /// The objects about which the client's pending writes may decide: their own, and those of objects that a path of
    /// the query reads. Goes through all objects on disk, and from each along every path.
    func decidedHere() throws -> Set<ObjectRef> {
        var decided = pending
        let dependencies = query.dependencies
        guard query.object == nil, !pending.isEmpty, !dependencies.linkPaths.isEmpty, !dependencies.readsBacklinks
        else {
            return decided
        }
        try storage.forEachRow(ofClass: query.classIndex) { row in
            for path in dependencies.linkPaths {
                var places = [row]
                for (position, link) in path.links.enumerated() {
                    var keys: Set<ObjectKey> = []
                    for place in places { place.values[link.property].forEachLink { keys.insert($0) } }
                    let targets = keys.map { ObjectRef(link.targetClass, $0) }
                    places = try targets.compactMap { try storage.row($0) }
                    guard position == path.links.count - 1 else { continue }
                    for target in targets where pending.contains(target) {
                        if try showsOtherValues(target, path.properties) {
                            decided.insert(ObjectRef(query.classIndex, row.key))
                        }
                    }
                }
            }
            return true
        }
        return decided
    }

    /// Whether an object is here otherwise than the server has sent it last.
    private func showsOtherValues(_ object: ObjectRef, _ properties: PropertySet) throws -> Bool {
        guard case .row(let image)? = try storage.baseImage(of: object) else {
            return try storage.isPresent(object)
        }
        guard let row = try storage.row(object) else { return true }
        return row.differences(from: image).contains { properties.contains($0) }
    }

    /// Whether every object that the order goes by is as the server has it. One that only another subscription holds
    /// is known to be deleted when that one has caught up; until then links lead to it.
    private var isOrderKnown: Bool {
        guard query.sortDependencies.linkPaths.isEmpty else {
            return storage.subscriptions.allSatisfy { $0.isDormant || $0.state == .complete }
        }
        return true
    }
}

/// A store in which some objects are others; for conditions that follow no link backwards.
final class OverlaidObjects: ObjectSource {
    private let rows: [ObjectRef: Row?]
    private let store: any ObjectSource

    init(_ rows: [ObjectRef: Row?], over store: any ObjectSource) {
        self.rows = rows
        self.store = store
    }

    var now: Timestamp { store.now }

    func row(_ object: ObjectRef) throws -> Row? {
        if let known = rows[object] { return known }
        return try store.row(object)
    }

    func isPresent(_ object: ObjectRef) throws -> Bool { try row(object) != nil }

    func backlinks(
        to object: ObjectRef, fromClass classIndex: Int, property: Int, _ body: (ObjectKey) throws -> Bool
    ) throws {
        try store.backlinks(to: object, fromClass: classIndex, property: property, body)
    }
}
