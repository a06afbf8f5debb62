extension Query.Path {
    /// A path to the object at the end of links.
    package init(to last: Step, by steps: [Step]) {
        self.init(
            steps: steps, leafClass: last.targetClass, leaf: .object, type: .link(last.targetClass), canBeNull: true,
            text: "")
    }

    /// The links before the first step that leads to many objects, or backwards.
    package var leadingLinks: [Step] { Array(steps.prefix { !$0.isToMany && !$0.isBacklink }) }

    /// Whether reading the value at the end requires a search, and the value depends on nothing but the object there.
    package var isCostly: Bool {
        switch leaf {
        case .aggregate, .backlinkCount: true
        case .subquery(let subquery): subquery.isSelfContained
        case .object, .value, .link, .elements, .keys, .entry, .element, .count, .size, .presence, .whole: false
        }
    }
}

extension Query.Subquery {
    /// Whether the condition reads only from the objects counted.
    package var isSelfContained: Bool { predicate.staysWithin(scope) }
}

extension Query.Predicate {
    fileprivate func staysWithin(_ scope: Int) -> Bool {
        var stays = true
        forEachComparison { comparison in
            for path in comparison.paths {
                stays = stays && path.scope >= scope
                if case .subquery(let inner) = path.leaf {
                    stays = stays && inner.collection.scope >= scope && inner.predicate.staysWithin(scope)
                }
            }
        }
        return stays
    }
}
