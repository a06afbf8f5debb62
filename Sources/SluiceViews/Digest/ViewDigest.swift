package import SluiceModel
package import SluiceQuery

/// Computes the digest of what a subscription includes, member by member, on server and client alike.
package struct ViewDigest: Sendable {
    private let schema: Schema
    private let plan: ClosurePlan
    private var accumulator = DigestAccumulator()
    /// The number of members so far.
    package private(set) var count = 0

    /// - Parameters:
    ///   - query: checked against `schema`.
    ///   - schema: the server's schema.
    ///   - hidden: the properties that the reader may not read, by class.
    /// - Returns: nil if the properties that the query includes of an object depend on the path to it, which a client
    ///   does not know.
    package init?(_ query: Query, schema: Schema, hidden: [Int: PropertySet] = [:]) {
        self.init(ClosurePlan(query, schema: schema, hidden: hidden), schema)
    }

    /// Makes the digest of a live view, without members yet; nil if the view has no digest.
    package init?(_ view: LiveView) { self.init(view.plan, view.schema) }

    private init?(_ plan: ClosurePlan, _ schema: Schema) {
        guard plan.mixedClasses.isEmpty else { return nil }
        self.plan = plan
        self.schema = schema
    }

    /// The properties of a class that the digest covers.
    package func properties(ofClass classIndex: Int) -> PropertySet { plan.includable(ofClass: classIndex) }

    /// Adds a member with the server's values.
    package mutating func add(_ row: Row, of classIndex: Int, isRoot: Bool) {
        accumulator.add(
            row, of: schema[classIndex], properties: properties(ofClass: classIndex), isRoot: isRoot)
        count += 1
    }

    package var digest: ObjectID { accumulator.digest }
}
