// Written by go generate ./browser/script, from functions.go.

export interface Functions {
  now(): Functions;
  addClosedRoot(...nodes: any[]): void;
  afterScroll(): Promise<boolean>;
  beginSettle(args: number): number;
  boxes(args: BoxesArgs): ([number, number, number, number] | null)[];
  caretIn(args: CaretArgs): Prepared;
  change(args: number): Promise<boolean>;
  checkedNow(args: CheckedNowArgs): Promise<CheckState>;
  chooseIn(args: ChooseInArgs): Choice;
  chooseOption(args: number): Choice;
  closedRootHosts(): any[];
  closedRootHostsAsked(): void;
  contextNow(args: number): string | null;
  endHitTest(): Hit;
  fieldWithin(): Fields;
  find(args: Query): Found[];
  findAgain(args: Lookup): Located;
  focusEdited(): void;
  focusedFrame(args: number): number;
  frameAt(args: FrameAtArgs): FramePoint;
  frameBox(args: number): FrameContent | null;
  giveUp(): void;
  guardKeys(args: number): boolean;
  guardPress(args: GuardPressArgs): void;
  hasText(args: string): boolean;
  hitAtPoint(args: Point): PointHit;
  hitResult(args: HitResultArgs): Promise<Hit>;
  idOf(...nodes: any[]): void;
  insertText(args: string): boolean;
  isUnder(): Hit;
  keysResult(args: KeysResultArgs): Promise<KeysResulted>;
  locate(args: Lookup): Promise<Located>;
  middle(args: MiddleArgs): ElementPoint;
  node(args: number): any;
  offScope(args: OffScopeOptions): string;
  pendingListeners(): string;
  personChooses(args: number): boolean;
  personDrives(args: boolean): boolean;
  read(args: ReadArgs): Content;
  refState(args: Lookup): RefStatus;
  releaseHitTest(): boolean;
  reportListeners(...nodes: any[]): void;
  reportMore(...nodes: any[]): void;
  reportPressed(...nodes: any[]): void;
  scrollIntoView(args: number): boolean;
  scrollPage(args: ScrollArgs): Promise<Position>;
  settle(args: SettleArgs): Promise<Settled>;
  walk(args: WalkOptions): string;
  warmUp(args: WarmUpArgs): string;
}

// What is called with an element that another function has at hand.
export interface ElementFunctions {
  caret(el: any, args: TypeArgs): Prepared;
  checked(el: any): CheckState;
  choose(el: any, args: ChooseArgs): Choice;
  fileInput(el: any, args: FileInputArgs): FileField;
  focusOn(el: any, args: FocusArgs): Focused;
  prepare(el: any, args: TypeArgs): Prepared;
  scrollFrom(el: any, args: ScrollArgs): Position;
}

export interface BoxesArgs {
  nodes: number[];
  view: boolean;
}

export interface CaretArgs {
  node: number;
  clear: boolean;
}

export interface CheckState {
  there?: boolean;
  state?: any;
  radio?: boolean;
}

export interface CheckedNowArgs {
  id: number;
  wanted: boolean;
  ms: number;
}

export interface Choice {
  selected?: string[];
  missing?: string | null;
  options?: string[];
  count?: number;
  disabled?: string | null;
  single?: boolean;
  custom?: boolean;
  styled?: Element | null;
}

export interface ChooseArgs {
  values: string[];
}

export interface ChooseInArgs {
  node: number;
  values: string[];
}

export interface ClosedOption {
  select: number;
  value: string;
  index: number;
}

export interface CompareArgs {
  wanted: string;
  loose: boolean;
}

export interface Compared {
  asked?: boolean;
  value?: string;
}

export interface Content {
  pieces?: Piece[];
  gone?: boolean;
  none?: boolean;
}

export interface Element {
  node: number;
  role: string;
  name: string;
  tag: string;
  ident: string;
  context: string;
  why?: string;
  says?: string;
}

export interface ElementPoint {
  x?: number;
  y?: number;
  gone?: boolean;
}

export interface Fields {
  field?: Element | null;
  frame?: number;
  several?: Element[];
}

export interface FileField {
  input: number;
  multiple?: boolean;
  disabled?: boolean;
  accept?: string;
}

export interface FileInputArgs {
  empty: boolean;
}

export interface FocusArgs {
  keys: boolean;
}

export interface Focused {
  focused: boolean;
  framed: boolean;
  guarded?: boolean;
}

export interface Found {
  bad?: boolean;
  frame?: number;
  line?: string;
  context?: string;
  says?: string;
  read?: any;
  count?: number | null;
  rest?: any;
}

export interface FrameAtArgs {
  node: number;
  x: number;
  y: number;
  hit_test: boolean;
}

export interface FrameContent {
  x: number;
  y: number;
  sx: number;
  sy: number;
  inner: [number, number, number, number];
}

export interface FramePoint {
  x?: number;
  y?: number;
  reason?: string;
  by?: Element | null;
}

export interface GuardPressArgs {
  node?: number;
  any?: boolean;
  presses?: number;
}

export interface Hit {
  hit?: boolean;
  seen?: boolean;
  part?: boolean;
  presses?: number;
  by?: Element | null;
  to?: Element | null;
  settled?: Settled | null;
  then?: any;
}

export interface HitResultArgs {
  then?: string;
  with?: any;
  to?: number;
  settle: boolean;
  shown: boolean;
}

export interface KeysResultArgs {
  compare?: CompareArgs | null;
  keep?: boolean;
  settle?: boolean;
  shown?: boolean;
}

export interface KeysResulted {
  got: number;
  chars?: number;
  lost: boolean;
  by?: Element | null;
  to?: Element | null;
  compared?: Compared | null;
  kept?: boolean;
  settled?: Settled | null;
}

export interface Located {
  ok?: boolean;
  node?: number;
  target?: number;
  moved?: boolean;
  record?: Element;
  kind?: string;
  x?: number | null;
  y?: number | null;
  frame?: number;
  option?: ClosedOption | null;
  then?: any;
  stale?: boolean;
  candidates?: Element[];
  changed?: Element | null;
  twin?: Element | null;
  now?: Element | null;
  reason?: string;
  because?: string;
  by?: Element | null;
}

export interface Lookup {
  id: number;
  role: string;
  name: string;
  tag: string;
  ident: string;
  context: string;
  any?: boolean;
  want: string[];
  control?: string;
  deadline: number;
  again?: boolean;
  presses?: number;
  then?: string;
  with?: any;
}

export interface MiddleArgs {
  node: number;
  over: number;
}

export interface OffScopeOptions {
  interactive: boolean;
  max_chars: number;
  max_nodes: number;
  max_depth: number;
  max_text: number;
  attrs: string[];
  dedupe_text: boolean;
  scope?: number;
  selector?: string;
  after?: number;
  base_depth?: number;
  fold?: boolean;
  capture?: number;
  none?: boolean;
  last?: number;
}

export interface Piece {
  text?: string;
  frame?: number;
}

export interface Point {
  x: number;
  y: number;
}

export interface PointHit {
  outside?: boolean;
  width?: number;
  height?: number;
  hit?: Element | null;
  frame?: FrameContent | null;
}

export interface Position {
  x: number;
  y: number;
  max_x: number;
  max_y: number;
}

export interface Prepared {
  framed?: boolean;
  accepts?: string;
  assigned?: boolean;
  asked?: boolean;
  value?: string;
  textless?: string;
  ready?: boolean;
  elsewhere?: Element | null;
  focused?: boolean;
  kind?: string;
  before?: string | null;
  length?: number;
  keys?: boolean;
  end?: boolean;
  guarded?: boolean;
  whole?: boolean;
}

export interface Query {
  text: string;
  role: string;
  name: string;
  whole?: boolean;
  label?: string;
  testid?: string;
  css?: string;
  unrendered?: boolean;
  limit: number;
  attrs: string[];
  chain?: any;
  read?: string[];
}

export interface ReadArgs {
  node: number;
  kind: string;
  attr?: string;
}

export interface RefStatus {
  attached: boolean;
  visible: boolean;
}

export interface ScrollArgs {
  direction: string;
  pixels: number;
  to: string;
}

export interface SettleArgs {
  new_document?: boolean;
  shown?: boolean;
  late?: number;
  empty?: number;
}

export interface Settled {
  changed: boolean;
  focused: number;
  announced: string[];
  saves: boolean;
  closing: boolean;
  title: string;
  url: string;
}

export interface TypeArgs {
  text: string;
  clear: boolean;
  keys: boolean;
  secret?: boolean;
  clicked?: boolean;
}

export interface WalkOptions {
  interactive: boolean;
  max_chars: number;
  max_nodes: number;
  max_depth: number;
  max_text: number;
  attrs: string[];
  dedupe_text: boolean;
  scope?: number;
  selector?: string;
  after?: number;
  base_depth?: number;
  fold?: boolean;
  capture?: number;
}

export interface WarmUpArgs {
  html: string;
  options: WalkOptions;
}
