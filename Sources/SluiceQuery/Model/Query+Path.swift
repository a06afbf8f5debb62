package import SluiceModel

extension Query {
    /// A checked path: links to follow from an object, and what to read at their end.
    package struct Path: Hashable, Sendable {
        /// The type of the value at the end.
        package enum ValueType: Hashable, Sendable {
            case scalar(ScalarType)
            /// A link to an object of the class at that position.
            case link(Int)
        }

        /// The object that the path begins at: 0 for the queried object, n for the object of the n-th enclosing
        /// subquery.
        package var scope = 0
        package let steps: [Step]
        /// The class of the object at the end of the steps.
        package let leafClass: Int
        package let leaf: Leaf
        package let type: ValueType
        /// Whether a value at the end may be null, for instance because a link leads nowhere.
        package let canBeNull: Bool
        /// The canonical text of the path, without a quantifier.
        package let text: String

        /// Whether the path yields any number of values instead of one.
        package var isToMany: Bool {
            switch leaf {
            case .elements, .keys: true
            case .object, .value, .link, .entry, .element, .count, .size, .presence, .whole, .backlinkCount, .aggregate,
                .subquery:
                steps.contains(where: \.isToMany)
            }
        }

        /// The property that the leaf reads; nil if it reads none of its object.
        package var leafProperty: Int? {
            switch leaf {
            case .value(let property), .link(let property), .elements(let property), .keys(let property),
                .entry(let property, _), .element(let property, _), .count(let property), .size(let property),
                .presence(let property, _), .whole(let property):
                property
            case .object, .backlinkCount, .aggregate, .subquery: nil
            }
        }

        /// The property whose single value the path reads from the object that it begins at; nil if it follows a link or
        /// reads anything else.
        package var plainProperty: Int? {
            guard steps.isEmpty, case .value(let property) = leaf else { return nil }
            return property
        }

        /// What a to-one path yields when a link on the way leads nowhere.
        package var brokenValue: Value {
            switch leaf {
            case .count, .presence, .backlinkCount, .subquery: .int(0)
            case .whole: .list([])
            case .aggregate(let operation, let elements):
                if case .scalar(let type) = elements.type {
                    Aggregation(operation, of: type).result
                } else {
                    .null
                }
            case .object, .value, .link, .elements, .keys, .entry, .element, .size: .null
            }
        }

        /// Whether the path, or the path whose objects or values it counts or aggregates, follows a link backwards.
        package var readsBacklinks: Bool {
            if steps.contains(where: \.isBacklink) { return true }
            switch leaf {
            case .backlinkCount: return true
            case .aggregate(_, let elements): return elements.readsBacklinks
            case .subquery(let subquery): return subquery.readsBacklinks
            case .object, .value, .link, .elements, .keys, .entry, .element, .count, .size, .presence, .whole:
                return false
            }
        }

        /// Paths are equal if they have the same text and end at the same class.
        package static func == (left: Path, right: Path) -> Bool {
            left.leafClass == right.leafClass && UTF8Order.equal(left.text, right.text)
        }

        package func hash(into hasher: inout Hasher) { UTF8Order.hash(text, into: &hasher) }
    }
}

extension Query.Path {
    /// A link to follow.
    package struct Step: Hashable, Sendable {
        /// The class of the object that the step starts from.
        package let sourceClass: Int
        /// The class that has the property: `sourceClass` or, for a backlink, the class of the objects that link.
        package let classIndex: Int
        package let property: Int
        /// The class that the step leads to.
        package let targetClass: Int
        package let isToMany: Bool
        /// Whether the step leads from a link's target to the objects that have the link.
        package let isBacklink: Bool
        /// The one element that the step follows; nil for all.
        package let selection: Selection?

        package init(
            sourceClass: Int, classIndex: Int, property: Int, targetClass: Int, isToMany: Bool,
            isBacklink: Bool = false, selection: Selection? = nil
        ) {
            self.sourceClass = sourceClass
            self.classIndex = classIndex
            self.property = property
            self.targetClass = targetClass
            self.isToMany = isToMany
            self.isBacklink = isBacklink
            self.selection = selection
        }
    }

    /// One element of a collection.
    package enum Selection: Hashable, Sendable {
        /// By position, from 0.
        case index(Int)
        case last
        /// By the key of a map.
        case key(String)
    }

    /// A link property whose links are followed backwards.
    package struct Backlink: Hashable, Sendable {
        /// The class of the objects that link.
        package let classIndex: Int
        package let property: Int
    }

    /// What is read from the object at the end; positions are those of `leafClass`.
    package enum Leaf: Sendable {
        /// A single scalar.
        case value(Int)
        /// A single link, by the identity of its target; null unless the target is present.
        case link(Int)
        /// Each element of a collection, or each value of a map; of links only those whose targets are present.
        case elements(Int)
        /// Each key of a map.
        case keys(Int)
        /// The scalar of a map under a string key; null if there is none.
        case entry(Int, key: Value)
        /// The scalar of a list at a position; null beyond its end.
        case element(Int, Selection)
        /// The object itself.
        case object
        /// A list or a set, to be compared as a whole; links to absent objects are null.
        case whole(Int)
        /// The number of elements of a collection, ghosts included; 0 if a link on the way is null.
        case count(Int)
        /// The length of a string (in UTF-8) or of data in bytes; null for null.
        case size(Int)
        /// 1 if the target of a single link is present, else 0.
        case presence(Int, targetClass: Int)
        /// The number of objects that link to this one, each counted once for each property.
        case backlinkCount([Backlink])
        /// Minimum, maximum, sum or average of what a path from here yields.
        indirect case aggregate(AggregateOperation, Query.Path)
        indirect case subquery(Query.Subquery)
    }
}

extension Query.Path.Leaf {
    /// Whether this reads values of the property itself, and not their number, their length or their keys.
    var isOfPropertysType: Bool {
        switch self {
        case .value, .link, .elements, .entry, .element, .whole: true
        case .keys, .object, .count, .size, .presence, .backlinkCount, .aggregate, .subquery: false
        }
    }
}

extension Query {
    /// Counts the objects of a collection that meet a condition.
    package struct Subquery: Sendable {
        /// A path to objects; it may begin at the object of any enclosing scope.
        package let collection: Path
        /// A condition on those objects; its paths may begin at them and at the objects of all enclosing scopes.
        package let predicate: Predicate
        /// The scope of paths that begin at an object of the collection.
        package let scope: Int

        package var readsBacklinks: Bool { collection.readsBacklinks || predicate.readsBacklinks }
    }
}
