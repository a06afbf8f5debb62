import Sluice
import SluiceModel
import SluiceQuery
import SluiceStorage

/// What a store has, and why: every object is held by a subscription, observed or dormant, or cached for a documented
/// reason, and every object is whole.
extension Simulation {
    /// What a record keeps in the store, with what is staged for it.
    func heldAlone(by record: SubscriptionRecord, _ client: SimulatedClient) throws -> Set<ObjectRef> {
        try members(of: record, client).union(client.storage.exclusiveMembers(of: record.id))
    }

    /// Checks a store, whatever is under way.
    func checkHolding(_ client: SimulatedClient) throws {
        let storage = client.storage
        var holders: [ObjectRef: [SubscriptionRecord]] = [:]
        var isStaging = false
        for record in storage.subscriptions {
            for object in try members(of: record, client) { holders[object, default: []].append(record) }
            isStaging = isStaging || storage.isStaging(record.id)
        }
        let ofAll = queryTexts.reduce(into: Set()) { $0.formUnion(Self.excludedNames(in: $1)) }
        for classIndex in storage.schema.classes.indices {
            let declared = storage.schema[classIndex]
            // What is staged is not known here one by one.
            let unheld = isStaging ? Set(try storage.unheldObjects(ofClass: classIndex)) : []
            try storage.forEachRow(ofClass: classIndex) { row in
                let object = ObjectRef(classIndex, row.key)
                let isStaged = isStaging && !unheld.contains(object)
                let own = holders[object] ?? []
                guard try !own.isEmpty || isStaged || client.cached.contains(object) || storage.hasPending(object)
                else {
                    throw SimulationFailure(
                        "client \(client.index) has \(declared.name) \(row.key), which nothing holds")
                }
                // Every holder has brought all that its query includes. Its text may have later names than those of all.
                let excluded = own.map { Self.excludedNames(in: $0.canonicalText) }
                let absent = excluded.dropFirst().reduce(excluded.first ?? ofAll) { $0.intersection($1) }
                for property in row.absent {
                    let property = declared.properties[property]
                    // A program's later version has declared it, and the server may have learned of it since.
                    if property.name == "mark" { continue }
                    let names = [property.name] + property.formerNames
                    guard absent.isDisjoint(with: names) else { continue }
                    throw SimulationFailure(
                        "client \(client.index) has \(declared.name) \(row.key) without \(property.name), held by "
                            + "\(own.map(\.canonicalText))")
                }
                return true
            }
        }
    }

    /// The names of the properties that a query excludes somewhere.
    private static func excludedNames(in query: String) -> Set<String> {
        guard let start = query.firstRange(of: "EXCLUDE(")?.upperBound, let end = query[start...].firstIndex(of: ")")
        else { return [] }
        // A name that is also a word of the language is written with a backslash.
        let paths = query[start..<end].filter { $0 != " " && $0 != "\\" }.split(separator: ",")
        return Set(paths.compactMap { $0.split(separator: ".").last.map(String.init) })
    }
}
