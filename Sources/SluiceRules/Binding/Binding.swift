package import SluiceModel
package import SluiceQuery

/// The rules as they hold for one user at one time.
package struct Binding: Sendable {
    /// Equal for bindings of one schema that allow the same for the same reasons. It costs no binding of conditions.
    package let id: ObjectID
    /// What the user may read. Narrow it to the classes that a query can reach before it becomes part of a view's key;
    /// see ``ReadContext/narrowed(to:)``.
    package let reads: ReadContext
    /// The rights that the user has.
    package let rights: Set<DatabaseRight>
    /// The roles that the user has, sorted.
    package let roles: [String]
    /// The derived sets and the number of their elements, sorted by name; a set that is not known is missing.
    package let setSizes: [(name: String, count: Int)]
    /// Whether the result of each fact was known. One without a result yet counts as unset.
    package let isComplete: Bool
    let classes: BoundClasses

    /// Where permission lists are; nil if there are none.
    var lists: PermissionListLayout? { classes.rules.lists }

    var transitive: TransitiveLinks { classes.rules.transitive }

    /// How many conditions were made so far; each is made when it is first asked for.
    package var madeConditionCount: Int { classes.madeCount }

    /// What an action needs of an object.
    ///
    /// - Parameters:
    ///   - action: of ``RuleAction/updateAfter``, what must hold after an update.
    ///   - classIndex: a class of the schema that the rules were compiled for.
    /// - Returns: nil if the class is not one of the schema; then nothing is allowed.
    package func condition(of action: RuleAction, onClass classIndex: Int) -> BoundCondition? {
        classes.condition(of: action, onClass: classIndex)
    }

    /// What writing a property needs: for an update of the object before it, for a creation of the object after it.
    ///
    /// - Returns: nil if the property has no rule of its own.
    package func writeCondition(ofProperty property: Int, ofClass classIndex: Int) -> BoundCondition? {
        classes.writeCondition(ofProperty: property, ofClass: classIndex)
    }

    /// What having a flag of an object with a permission list needs; nil if the class has no such lists.
    func grants(_ flag: PermissionFlag, ofClass classIndex: Int) -> BoundCondition? {
        classes.grant(flag, ofClass: classIndex)
    }
}
