import SluiceModel

@testable import SluiceWire

extension SampleGenerator {
    mutating func schema() -> Schema {
        let names = (0..<below(5)).map { "Class\($0)" }
        let classes = names.compactMap { name -> ClassSchema? in
            var properties = [Property("key", .scalar(pick([.int, .string, .uuid])))]
            for index in 0..<below(8) {
                let element: PropertyType.Element =
                    bool() ? .link(pick(names)) : .scalar(pick(ScalarType.allCases))
                let type = PropertyType(
                    element, container: pick([.single, .list, .set, .map]), isOptional: bool())
                let hasDefault = type == .scalar(.int) || type == .scalar(.int, isOptional: true)
                properties.append(
                    Property(
                        "p\(index)", type, default: hasDefault ? .int(integer()) : nil, isIndexed: bool(),
                        was: below(3) == 0 ? ["was\(index)"] : []))
            }
            return try? ClassSchema(name, primaryKey: bool() ? "key" : nil, properties: properties)
        }
        guard var schema = try? Schema(classes) else { return Schema() }
        for index in schema.classes.indices where below(4) == 0 {
            let property = below(schema[index].properties.count)
            if property != schema[index].primaryKeyIndex {
                schema.retire(property: property, ofClass: index)
            }
            if below(4) == 0, schema.backlinks(to: index).isEmpty { schema.retire(class: index) }
        }
        return schema
    }

    mutating func identity() -> ClientIdentity {
        ClientIdentity(databaseID: id(), epoch: number(), clientID: number(), nonce: id())
    }

    mutating func credentials() -> [WireCredentials] {
        many(upTo: 3) { WireCredentials(WireCredentials.Kind(rawValue: UInt64($0.below(9))), $0.data()) }
    }

    mutating func changeset() -> Changeset {
        var changeset = Changeset(
            sequence: number(), baseVersion: number(),
            timestamp: HybridTimestamp(microseconds: integer()),
            operations: bool() ? creations() : operations())
        if below(3) == 0 { changeset.jobs = many(upTo: 3) { $0.jobWrite() } }
        return changeset
    }

    /// Creations as they come together, with others between them.
    mutating func creations() -> [ObjectOperation] {
        let classIndex = below(1000)
        let properties = (0..<below(6)).map { $0 * 7 }
        let (isUniform, hasDefaults) = (bool(), bool())
        let samples = properties.map { _ in value() }
        return (0..<below(60)).flatMap { _ in
            let fields = properties.indices.map { index -> FieldOperation in
                let value = isUniform && below(5) > 0 ? samples[index] : value()
                return FieldOperation(properties[index], hasDefaults && bool() ? .setDefault(value) : .set(value))
            }
            let creation = ObjectOperation(ObjectRef(classIndex, key()), .create(fields))
            return below(40) == 0 ? operations() + [creation] : [creation]
        } + operations()
    }

    mutating func operations() -> [ObjectOperation] {
        many(upTo: 5) { generator in
            let fields = generator.many(upTo: 4) { generator in
                FieldOperation(generator.below(500), generator.change())
            }
            return ObjectOperation(
                ObjectRef(generator.below(1000), generator.key()),
                generator.pick([.create(fields), .update(fields), .delete]))
        }
    }

    private mutating func change() -> FieldOperation.Change {
        switch below(10) {
        case 0: .clear
        case 8: .editList(edited().edits)
        case 9: .setDefault(value())
        case 1:
            .edit(
                ElementEdits(
                    inserting: many(upTo: 4) { $0.scalar() }, erasing: many(upTo: 4) { $0.scalar() }))
        case 2:
            .edit(
                ElementEdits(
                    setting: many(upTo: 4) { ValueMap.Entry(key: $0.text(), value: $0.scalar()) },
                    erasing: many(upTo: 4) { $0.text() }))
        case 3, 4: .add(scalar())
        default: .set(value())
        }
    }

    mutating func clientMessage() -> ClientMessage {
        let session = number()
        switch pick(ClientMessage.Code.allCases) {
        case .hello:
            return .hello(
                .init(
                    versionMin: number(), versionMax: number(), features: Features(rawValue: number()),
                    agent: text())
            )
        case .open:
            return .open(
                .init(
                    session: session, path: text(), credentials: credentials(),
                    identity: maybe { $0.identity() },
                    version: number(), acknowledged: number(), options: .init(rawValue: number()),
                    variables: map { .string($0.text()) }, schema: schema()))
        case .authenticate: return .authenticate(session: session, credentials: credentials())
        case .subscribe:
            let resume = maybe { generator in
                ClientMessage.Resume(
                    version: generator.number(), queryHash: generator.id(), memberCount: generator.number(),
                    isWhole: generator.bool(), digest: generator.maybe { $0.id() })
            }
            return .subscribe(
                .init(
                    session: session, subscription: number(), query: text(), resume: resume,
                    basis: resume == nil ? maybe { $0.number() } : nil))
        case .unsubscribe: return .unsubscribe(session: session, subscription: number())
        case .upload: return .upload(session: session, changesets: many(upTo: 3) { $0.changeset() })
        case .credit: return .credit(session: session, pages: number())
        case .reportRequest:
            return .reportRequest(
                .init(
                    session: session, request: number(), topic: .init(rawValue: number()), argument: text()))
        case .declare: return .declare(session: session, schema: schema())
        case .members:
            return .members(
                .init(session: session, subscription: number(), isContinued: bool(), content: block()))
        case .remove:
            return .remove(
                .init(session: session, request: number(), className: text(), property: maybe { $0.text() })
            )
        case .cached: return .cached(.init(session: session, request: number(), content: block()))
        case .deploy: return .deploy(.init(session: session, request: number(), isTrial: bool(), file: data()))
        case .variables: return .variables(session: session, values: map { .string($0.text()) })
        case .listen: return .listen(.init(session: session, request: number(), topics: many(upTo: 3) { $0.text() }))
        case .job: return .job(.init(session: session, request: number(), question: question()))
        case .message: return .message(.init(session: session, request: number(), topic: text(), payload: data()))
        case .close: return .close(session: session)
        }
    }

    private mutating func rejection() -> ServerMessage.Rejection {
        ServerMessage.Rejection(
            sequence: number(),
            reasons: many(upTo: 3) {
                .init(
                    object: $0.maybe { ObjectRef($0.below(9), $0.key()) }, code: .invalidOperation,
                    message: $0.text())
            })
    }

    mutating func serverMessage() -> ServerMessage {
        let session = number()
        let time = Timestamp(microseconds: integer())
        switch pick(ServerMessage.Code.allCases) {
        case .hello:
            let limits = ServerLimits(frameLengthMax: number(), pageCreditMax: number())
            return .hello(
                .init(
                    version: number(), features: Features(rawValue: number()),
                    time: Timestamp(microseconds: time.microseconds >> 2), limits: limits,
                    agent: text()))
        case .opened:
            return .opened(
                .init(
                    session: session, identity: identity(),
                    outcome: pick(ServerMessage.OpenOutcome.allCases),
                    version: number(), acknowledged: number(),
                    rejections: many(upTo: 2) { $0.rejection() }, userID: maybe { $0.text() },
                    schema: maybe { $0.schema() }))
        case .schema: return .schema(session: session, schema: schema())
        case .page:
            return .page(
                .init(
                    session: session, subscriptions: many(upTo: 3) { $0.number() }, version: number(),
                    progress: Double(below(1001)) / 1000, kind: pick(ServerMessage.Complete.Kind.allCases),
                    content: viewBlock()))
        case .commit:
            let header = CommitHeader(
                session: session, version: number(), acceptedAt: time, acknowledged: maybe { $0.number() },
                isContinued: bool())
            return .commit(
                .init(
                    header,
                    blocks: many(upTo: 3) { generator in
                        ServerMessage.SubscriptionBlock(
                            subscriptions: generator.many(upTo: 3) { $0.number() }, content: generator.viewBlock()
                        )
                    },
                    figures: many(upTo: 2) { generator in
                        ServerMessage.SubscriptionFigures(
                            subscriptions: generator.many(upTo: 3) { $0.number() },
                            values: generator.many(upTo: 3) { $0.value() })
                    }))
        case .complete:
            return .complete(
                .init(
                    session: session, subscription: number(), version: number(), acceptedAt: time,
                    kind: pick(ServerMessage.Complete.Kind.allCases), digest: maybe { $0.id() },
                    figures: maybe { $0.many(upTo: 3) { $0.value() } }))
        case .subscriptionError:
            return .subscriptionError(
                .init(
                    session: session, subscription: number(), code: .invalidQuery, message: text(),
                    position: maybe { $0.number() }))
        case .rejected:
            return .rejected(.init(session: session, rejection: rejection()))
        case .error:
            return .error(
                .init(
                    session: session, code: .overloaded, message: text(), action: pick(ErrorAction.allCases),
                    retryAfter: number()))
        case .listMembers: return .listMembers(session: session, subscription: number())
        case .reportError:
            return .reportError(
                .init(
                    session: session, request: number(), code: .unknownReport, message: text(),
                    position: maybe { $0.number() }))
        case .digest:
            return .digest(.init(session: session, subscription: number(), version: number(), digest: id()))
        case .login:
            return .login(
                .init(
                    session: session, expiresAt: maybe { Timestamp(microseconds: $0.integer()) },
                    credential: maybe { WireCredentials(.session, $0.data()) }))
        case .context:
            let hidden = many(upTo: 2) {
                ServerMessage.HiddenProperties(classIndex: $0.below(5), properties: [$0.below(3), 70])
            }
            return .context(.init(session: session, context: id(), fields: id(), hidden: hidden))
        case .withdrawn: return .withdrawn(.init(session: session, request: number(), content: block()))
        case .moved: return .moved(.init(session: session, url: text()))
        case .message:
            return .message(
                .init(
                    session: session, topic: text(), userID: maybe { $0.text() },
                    sentAt: Timestamp(microseconds: integer()), payload: data()))
        case .places:
            return .places(
                .init(
                    session: session, subscriptions: many(upTo: 3) { $0.number() },
                    rows: many(upTo: 3) { samples in
                        ServerMessage.Place(ObjectRef(samples.below(5), samples.key()), samples.maybe { $0.text() })
                    }))
        case .report: return .report(session: session, request: number(), json: data())
        }
    }
}
