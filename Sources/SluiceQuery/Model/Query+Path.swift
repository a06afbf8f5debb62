package import SluiceModel

extension Query {
    /// A checked path: links to follow from an object of the queried class, and what to read at their end.
    package struct Path: Hashable, Sendable {
        /// A link to follow.
        package struct Step: Hashable, Sendable {
            /// The class that has the property.
            package let classIndex: Int
            package let property: Int
            /// The class that the link leads to.
            package let targetClass: Int
            package let isToMany: Bool
        }

        /// What is read from the object at the end; positions are those of `leafClass`.
        package enum Leaf: Hashable, Sendable {
            /// A single scalar.
            case value(Int)
            /// A single link, by the identity of its target; null unless the target is present.
            case link(Int)
            /// Each element of a collection, or each value of a map; of links only those whose targets are present.
            case elements(Int)
            /// Each key of a map.
            case keys(Int)
            /// The value of a map under a string key; null if there is none.
            case entry(Int, key: Value)
            /// The number of elements of a collection, ghosts included; 0 beyond a null link.
            case count(Int)
            /// The length of a string (in UTF-8) or of data in bytes; null for null.
            case size(Int)
            /// 1 if the target of a single link is present, else 0.
            case presence(Int, targetClass: Int)
        }

        /// What kind of value stands at the end.
        package enum ValueType: Hashable, Sendable {
            case scalar(ScalarType)
            /// A link to an object of the class at that position.
            case link(Int)
        }

        package let steps: [Step]
        /// The class of the object at the end of the steps.
        package let leafClass: Int
        package let leaf: Leaf
        package let type: ValueType
        /// Whether a value at the end may be null, be it for a link that leads nowhere.
        package let canBeNull: Bool
        /// The path in the grammar, without a quantifier.
        package let text: String

        /// Whether the path yields any number of values instead of one.
        package var isToMany: Bool {
            switch leaf {
            case .elements, .keys: true
            default: steps.contains(where: \.isToMany)
            }
        }

        /// The property that the leaf reads.
        package var leafProperty: Int {
            switch leaf {
            case .value(let property), .link(let property), .elements(let property), .keys(let property),
                .entry(let property, _), .count(let property), .size(let property), .presence(let property, _):
                property
            }
        }

        /// What a to-one path yields when a link on the way leads nowhere.
        package var brokenValue: Value {
            switch leaf {
            case .count, .presence: .int(0)
            default: .null
            }
        }

        package static func == (left: Path, right: Path) -> Bool {
            left.steps == right.steps && left.leafClass == right.leafClass && left.leaf == right.leaf
        }

        package func hash(into hasher: inout Hasher) {
            hasher.combine(steps)
            hasher.combine(leaf)
        }
    }
}
