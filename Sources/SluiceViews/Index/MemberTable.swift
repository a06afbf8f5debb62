import SluiceModel
import SluiceQuery

/// Finds the views that a change concerns because they hold the changed object as a linked object, or would hold it if
/// it existed.
struct MemberTable {
    private(set) var byObject = HashedNumbers<ObjectRef>()
    /// By class: how many views follow links from linked objects to objects of the class.
    private(set) var deepCounts: [Int: Int] = [:]

    mutating func insert(_ view: LiveView, _ number: UInt64) {
        for classIndex in view.plan.deepClasses { deepCounts[classIndex, default: 0] += 1 }
        for object in view.closure?.objects ?? [] { byObject.insert(number, for: object) }
        _ = view.closure?.takeRefiled()
    }

    mutating func remove(_ view: LiveView, _ number: UInt64) {
        for classIndex in view.plan.deepClasses {
            deepCounts[classIndex, default: 0] -= 1
            if deepCounts[classIndex] == 0 { deepCounts[classIndex] = nil }
        }
        guard var objects = view.closure?.objects else { return }
        objects.formUnion(view.closure?.takeRefiled() ?? [])
        for object in objects { byObject.remove(number, for: object) }
    }

    /// Files a view under the objects that it has come to hold, and no longer under those that it has ceased to hold.
    mutating func update(_ view: LiveView, _ number: UInt64) {
        for object in view.closure?.takeRefiled() ?? [] {
            if view.closure?.holds(object) ?? false {
                byObject.insert(number, for: object)
            } else {
                byObject.remove(number, for: object)
            }
        }
    }

    /// Calls `body` with the number of each view that a change could concern because of the linked objects that the
    /// view holds.
    ///
    /// A view holds the objects that its links lead to, and the missing objects that its results link to. It does not
    /// hold missing objects that only linked objects link to: when such an object is created, the objects that link to
    /// it find the view.
    func forEachCandidate(
        of change: ObjectDelta, schema: Schema, in source: any ObjectSource, _ body: (UInt64) -> Void
    ) throws {
        byObject.forEach(of: change.object, body)
        guard change.old == nil, deepCounts[change.object.classIndex] != nil else { return }
        for (classIndex, property) in schema.backlinks(to: change.object.classIndex) {
            try source.backlinks(to: change.object, fromClass: classIndex, property: property) { key in
                byObject.forEach(of: ObjectRef(classIndex, key), body)
                return true
            }
        }
    }
}
