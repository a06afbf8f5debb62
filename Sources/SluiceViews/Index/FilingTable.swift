package import SluiceModel
internal import SluiceQuery

/// Finds the followers that a change could concern, by number. The cost grows with the number found and not with the
/// number filed. The server files its views in it, and the client its observers, as ``Filing`` says.
package struct FilingTable {
    /// The numbers that every change of a class finds.
    private var byClass: [Int: Set<UInt64>] = [:]
    /// The numbers that changes of a class find by a property's value.
    private var byCondition: [Int: [Int: ConditionTable]] = [:]
    /// The numbers that changes of one object find.
    private var byObject: [ObjectID: Set<UInt64>] = [:]

    package init() {}

    /// Files a number. Costs O(classes of the filing).
    package mutating func insert(_ filing: Filing, _ number: UInt64) {
        for classIndex in filing.wholeClasses { byClass[classIndex, default: []].insert(number) }
        if let object = filing.object { byObject[object, default: []].insert(number) }
        if let condition = filing.condition, let classIndex = filing.rootClass {
            byCondition[classIndex, default: [:]][condition.property, default: ConditionTable()]
                .insert(condition.test, number)
        }
    }

    /// Removes a number that was inserted with the same filing.
    package mutating func remove(_ filing: Filing, _ number: UInt64) {
        for classIndex in filing.wholeClasses {
            byClass[classIndex]?.remove(number)
            if byClass[classIndex]?.isEmpty == true { byClass[classIndex] = nil }
        }
        if let object = filing.object {
            byObject[object]?.remove(number)
            if byObject[object]?.isEmpty == true { byObject[object] = nil }
        }
        guard let condition = filing.condition, let classIndex = filing.rootClass else { return }
        byCondition[classIndex]?[condition.property]?.remove(condition.test, number)
        if byCondition[classIndex]?[condition.property]?.isEmpty == true {
            byCondition[classIndex]?[condition.property] = nil
        }
    }

    /// Calls `body` with each number that a change could concern; a number may occur several times.
    ///
    /// - Parameter schema: the schema that the class positions belong to.
    package func forEachCandidate(of change: ObjectDelta, schema: Schema, _ body: (UInt64) -> Void) {
        let classIndex = change.object.classIndex
        for number in byClass[classIndex] ?? [] { body(number) }
        if !byObject.isEmpty, let numbers = byObject[change.object.objectID(in: schema)] { numbers.forEach(body) }
        for (property, table) in byCondition[classIndex] ?? [:] {
            guard let old = change.value(of: property, in: change.old),
                let new = change.value(of: property, in: change.new)
            else {
                table.forEach(body)
                continue
            }
            table.forEach(metBy: new, body)
            if old != new { table.forEach(metBy: old, body) }
        }
    }
}

extension ObjectRef {
    fileprivate func objectID(in schema: Schema) -> ObjectID {
        if case .id(let own) = key { return own }
        return Identity(className: schema[classIndex].name, key: key).objectID
    }
}

extension ObjectDelta {
    /// The value of a property in one of the images, or, if that is missing, in the other. Nil if the value is unknown
    /// because the image is older than the property or lacks it.
    fileprivate func value(of property: Int, in image: Row?) -> Value? {
        guard let row = image ?? new ?? old, row.values.indices.contains(property), !row.absent.contains(property)
        else { return nil }
        return row.values[property]
    }
}
