package import SluiceModel
internal import SluiceQuery

/// What one rule costs: how views and conditions made of it are shared, and what it takes to find them.
package struct RuleReport: Hashable, Sendable {
    /// Where the rule is, such as `Document.read`.
    package let place: String
    /// The condition as written.
    package let text: String
    /// Who shares what the whole rule decides.
    package let sharing: RuleSharing
    /// The parts of the rule's OR, and who shares each.
    package let atoms: [AtomReport]
    /// The properties whose writes can change what the rule allows, sorted, such as `Team.members`.
    package let reads: [String]
    /// The properties that an index would serve, sorted.
    package let missingIndexes: [String]
}

/// One part of a rule's OR.
package struct AtomReport: Hashable, Sendable {
    package let text: String
    package let sharing: RuleSharing
    /// Whether the users whom a write concerns are found by the values that are written. If not, a write is judged for
    /// every user who differs.
    package let isFoundByValue: Bool
}

/// Who shares a condition, from all to nobody.
package enum RuleSharing: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// One for everybody.
    case everybody
    /// One for those with the same of some roles.
    case roles
    /// One for each element of a derived set.
    case element
    /// One for those with the same claims, or the same choice of the client.
    case value
    /// One for those with equal derived sets.
    case set
    /// One for each user.
    case user

    package var description: String {
        switch self {
        case .everybody: "one for everybody"
        case .roles: "one for each combination of roles"
        case .element: "one for each element of a set"
        case .value: "one for each value of the claims and $client"
        case .set: "one for each set of elements"
        case .user: "one for each user"
        }
    }
}

extension RulesFile {
    /// What each rule costs in a schema, in the order of the file.
    ///
    /// - Parameter schema: one that the file has no problems with; rules of other classes are left out.
    package func report(schema: Schema) -> [RuleReport] {
        let pool = SamplePool(document, schema: schema)
        return document.classes.flatMap { name, rules -> [RuleReport] in
            guard let declared = schema.classSchema(named: name) else { return [] }
            return RuleAction.allCases.compactMap { action in
                guard let rule = rules.rules[action] else { return nil }
                let own = rule.predicate(onClass: name, schema: schema)
                let predicate = action == .read ? document.readPredicate(ofClass: name, schema: schema) ?? own : own
                return RuleReport(
                    predicate, text: rule.text, named: "\(name).\(action.rawValue)", of: declared, schema: schema, pool)
            }
        }
    }
}

extension RuleReport {
    fileprivate init(
        _ predicate: PredicateSyntax, text: String, named place: String, of declared: ClassSchema, schema: Schema,
        _ pool: SamplePool
    ) {
        let target = QuerySyntax.Target.objects(className: declared.name)
        var reads: Set<String> = []
        var missing: Set<String> = []
        func query(_ predicate: PredicateSyntax) -> Query? {
            var found: Query?
            _ = pool.tryAll(predicate.variables) { values in
                let bound = Substitution { values[$0] ?? .unknown }.predicate(predicate)
                found = try? Query(QuerySyntax(target, where: bound), schema: schema)
                return found != nil
            }
            return found
        }
        let parts = predicate.alternatives
        atoms = parts.map { part in
            let bound = query(part)
            if let bound {
                reads.formUnion(bound.reads(in: schema))
                missing.formUnion(bound.missingIndexes(in: schema))
            }
            return AtomReport(
                text: bound.map { Self.condition($0) } ?? text, sharing: part.sharing(isAtom: true),
                isFoundByValue: bound?.isFoundByValue(in: schema) ?? false)
        }
        self.place = place
        self.text = text
        sharing = predicate.sharing(isAtom: false)
        self.reads = reads.sorted()
        missingIndexes = missing.sorted()
    }

    private static func condition(_ query: Query) -> String {
        let prefix = query.className + " WHERE "
        let text = query.canonicalText
        return text.hasPrefix(prefix) ? String(text.dropFirst(prefix.count)) : "TRUEPREDICATE"
    }
}

extension PredicateSyntax {
    /// - Parameter isAtom: whether an IN of a derived set is shared element by element.
    fileprivate func sharing(isAtom: Bool) -> RuleSharing {
        variables.map { variable -> RuleSharing in
            switch (variable.source, variable.names[0]) {
            case (.role, _): return .roles
            case (.client, _), (.user, "claims"): return .value
            case (.user, "id"): return .user
            case (.user, _): return isAtom && isMembership ? .element : .set
            }
        }.max() ?? .everybody
    }

    private var isMembership: Bool {
        guard case .comparison(let comparison) = self, comparison.comparison == .isIn,
            case .literal(let literal) = comparison.right
        else { return false }
        return literal.variable != nil
    }
}

extension Query {
    /// The properties that the condition reads, as `Class.property`.
    fileprivate func reads(in schema: Schema) -> Set<String> {
        var names: Set<String> = []
        for (classIndex, properties) in dependencies.referencedProperties(rootClass: classIndex) {
            let declared = schema[classIndex]
            for (position, property) in declared.properties.enumerated() where properties.contains(position) {
                names.insert("\(declared.name).\(property.name)")
            }
        }
        return names
    }

    fileprivate func isFoundByValue(in schema: Schema) -> Bool {
        isOfWholeClass || !QueryCover(self, schema: schema, readsSort: false).alternatives.isEmpty
    }

    /// The properties of the class that a condition compares and no index serves.
    fileprivate func missingIndexes(in schema: Schema) -> Set<String> {
        let declared = schema[classIndex]
        let conditions = rootConditions(schema: schema)
        guard let best = conditions.first(where: { $0.isServedByTables && $0.breadth < 6 }) else { return [] }
        let property = declared.properties[best.property]
        let isServed =
            property.isIndexed || property.type.element.isLink || best.property == declared.primaryKeyIndex
        return isServed ? [] : ["\(declared.name).\(property.name)"]
    }
}
