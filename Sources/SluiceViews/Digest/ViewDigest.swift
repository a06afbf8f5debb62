package import SluiceModel
package import SluiceQuery

/// The digest of what a subscription holds, gathered member by member, on either side.
package struct ViewDigest: Sendable {
    private let schema: Schema
    private let plan: ClosurePlan
    private var accumulator = DigestAccumulator()
    /// How many members were added.
    package private(set) var count = 0

    /// - Parameters:
    ///   - query: checked against `schema`.
    ///   - schema: the server's.
    /// - Returns: nil where what the query includes of an object depends on how it is reached: a follower does not know
    ///   that.
    package init?(_ query: Query, schema: Schema) {
        self.init(ClosurePlan(query, schema: schema), schema)
    }

    /// The digest of a live view, with nothing added yet; nil where there is none.
    package init?(_ view: LiveView) { self.init(view.plan, view.schema) }

    private init?(_ plan: ClosurePlan, _ schema: Schema) {
        guard plan.mixedClasses.isEmpty else { return nil }
        self.plan = plan
        self.schema = schema
    }

    /// What counts of the objects of a class.
    package func properties(ofClass classIndex: Int) -> PropertySet { plan.includable(ofClass: classIndex) }

    /// Adds a member with the server's image of it.
    package mutating func add(_ row: Row, of classIndex: Int, isRoot: Bool) {
        accumulator.add(
            row, of: schema[classIndex], properties: properties(ofClass: classIndex), isRoot: isRoot)
        count += 1
    }

    package var digest: ObjectID { accumulator.digest }
}
